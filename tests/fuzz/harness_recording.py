"""The file of the recorded consultant."""

from pathlib import Path
from tempfile import TemporaryDirectory

from clearcall.agents.consultant.recorded import RecordedBackend
from clearcall.agents.consultant.recording import UnreadableRecording, read, write

WORDS = (
    *(
        '{"recording":1,"model":"',
        '"server":"',
        '"quantisation":"',
        '"settings":{',
        '"decoding":"',
        '"prompt_versions":[',
    ),
    *(
        '"recorded_at":"',
        '"clearcall_version":"',
        '"call_id":"',
        '"chunk_id":',
        '"part":',
        '"iteration":',
        '"source":"',
    ),
    *('"text":"', '"failure":"cut"', '"prompt_version":"', '"prompt_tokens":', '"latency_ms":', "NaN", "1e400", "\n"),
)


def check(data: bytes) -> None:
    """A recording is read or refused with its line, and what was read is written and read again the same."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "recording.jsonl"
        path.write_bytes(data)
        try:
            header, answers = read(path)
        except UnreadableRecording as error:
            assert str(path) in str(error)
            return
        write(path, header, list(answers.values()))
        assert read(path) == (header, answers)
    backend = RecordedBackend(header, answers)
    for iteration in range(3):
        assert backend.info(iteration).model == header.model
