-- Where an answer is no allowed reduction of what was said: a flag where it has to be one (reduction_check), else a note.

ALTER TABLE evaluations
    ADD COLUMN IF NOT EXISTS notes
    Array(Tuple(guard LowCardinality(String), reason String, cleaned Array(UInt32), source Array(UInt32)))
    COMMENT 'findings that do not flag; places as in flags' AFTER flags;

-- A row for each such finding in an attempt that stands, whatever the decoding; places in characters, the end excluded.
CREATE OR REPLACE VIEW reduction_findings AS
SELECT
    call_id, chunk_id, agent, task, iteration, backend, model, prompt_version, decoding, mode,
    found.2 AS is_flag,
    found.1.2 AS reason,
    found.1.3[1] AS cleaned_start, found.1.3[2] AS cleaned_end,
    found.1.4[1] AS source_start, found.1.4[2] AS source_end,
    substringUTF8(source_text, source_start + 1, source_end - source_start) AS said,
    substringUTF8(cleaned, cleaned_start + 1, cleaned_end - cleaned_start) AS wrote
FROM evaluations FINAL
ARRAY JOIN arrayConcat
(
    arrayMap(flag -> (flag, true), arrayFilter(flag -> flag.1 = 'reduction', flags)),
    arrayMap(note -> (note, false), notes)
) AS found
WHERE (call_id, chunk_id, agent, task, iteration, evaluated_at) IN
    (SELECT call_id, chunk_id, agent, task, iteration, evaluated_at FROM evaluations_current);
