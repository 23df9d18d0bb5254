"""Records that aiokafka would not read, built byte by byte."""

import aiokafka.codec
import pytest
from aiokafka import TopicPartition
from aiokafka.consumer import fetcher
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.memory_records import MemoryRecords
from aiokafka.record.util import calc_crc32c

from clearcall.infra.kafka.header_names import ReadableRecords, tolerate_header_names

PLACEHOLDER, BROKEN = b"badname", b"\xff\xfedname"  # equally long
CODECS = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
_HEAD = 61  # bytes of a batch before its records


def batch(first: int, codec: str, *names: str) -> bytes:
    """A batch with a record for each header name; what is called ``badname`` gets a name that is no text."""
    builder = DefaultRecordBatchBuilder(2, 0, False, -1, -1, -1, 65_536)
    for number, name in enumerate(names):
        builder.append(number, timestamp=1, key=b"k", value=b"v%d" % (first + number), headers=[(name, b"x")])
    built = bytes(builder.build()).replace(PLACEHOLDER, BROKEN)
    records = built[_HEAD:] if codec == "none" else bytes(getattr(aiokafka.codec, f"{codec}_encode")(built[_HEAD:]))
    checked = CODECS[codec].to_bytes(2, "big") + built[23:_HEAD] + records
    length = (9 + len(checked)).to_bytes(4, "big")
    crc = calc_crc32c(checked).to_bytes(4, "big")
    return b"".join((first.to_bytes(8, "big"), length, built[12:17], crc, checked))


def read(data: bytes, start: int = 0) -> list[tuple[int, bytes, list[tuple[str, bytes]]]]:
    """As aiokafka's consumer reads a fetched piece."""
    place = TopicPartition("t", 0)
    records = fetcher.PartitionRecords(place, ReadableRecords(data), [], start, None, None, True, 0)
    return [(record.offset, record.value, list(record.headers)) for record in records]


@pytest.mark.parametrize("codec", CODECS)
def test_a_header_name_that_is_no_text_is_read_with_replacement_characters(codec: str) -> None:
    data = batch(0, codec, "a", "badname", "b") + batch(3, codec, "c") + batch(4, codec, "badname", "badname")
    found = read(data)
    assert [(offset, value) for offset, value, _ in found] == [(at, b"v%d" % at) for at in range(6)]
    assert [headers[0][0] for _, _, headers in found] == [
        "a",
        "\ufffd\ufffddname",
        "b",
        "c",
        "\ufffd\ufffddname",
        "\ufffd\ufffddname",
    ]
    assert {headers[0][1] for _, _, headers in found} == {b"x"}


def test_a_reading_that_begins_inside_a_batch_gives_what_follows() -> None:
    assert [offset for offset, *_ in read(batch(0, "none", "a", "badname", "b"), start=2)] == [2]


def test_a_piece_that_ends_within_a_batch_gives_what_is_whole() -> None:
    data = batch(0, "none", "a") + batch(1, "none", "badname")[:-3]
    assert [offset for offset, *_ in read(data)] == [0]
    assert ReadableRecords(data).size_in_bytes() == len(data)


def test_this_is_the_aiokafka_that_needs_it() -> None:
    with pytest.raises(UnicodeDecodeError):
        list(MemoryRecords(batch(0, "none", "badname")).next_batch())


def test_every_consumer_of_this_process_reads_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetcher, "MemoryRecords", MemoryRecords)
    tolerate_header_names()
    assert fetcher.MemoryRecords is ReadableRecords


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_records_in_every_compression_of_kafka_can_be_read(codec: str) -> None:
    assert getattr(aiokafka.codec, f"has_{codec}")()
