-- What a model handed to the scoring function, for a share of the fragments, beside what it should have. No score in here
-- counts for anything.

CREATE TABLE IF NOT EXISTS tool_checks
(
    call_id String,
    chunk_id UInt32,
    iteration UInt32,
    agent LowCardinality(String) COMMENT 'who cleaned the fragment; empty where it has no name',
    task LowCardinality(String),
    fragment_id UInt32,
    fragment LowCardinality(String) COMMENT 'what became of it: exact, altered, truncated, swapped, invented, missing',
    source LowCardinality(String) COMMENT 'the same of what was said',
    given_fragment Nullable(String) CODEC(ZSTD(3)) COMMENT 'NULL where it is the true one, or nothing was handed over',
    given_source Nullable(String) CODEC(ZSTD(3)),
    ss Float64 COMMENT 'of the true arguments, in the chunk alone',
    given_ss Nullable(Float64) COMMENT 'of those handed over',
    change LowCardinality(String) COMMENT 'to the flag: none, hidden, false, unscored',
    backend LowCardinality(String) COMMENT 'of the consultant, as the next three',
    model LowCardinality(String),
    prompt_version LowCardinality(String),
    decoding LowCardinality(String),
    caller_model LowCardinality(String) COMMENT 'the model that called the function',
    caller_prompt_version LowCardinality(String),
    mode LowCardinality(String),
    threshold Float64,
    clearcall_version LowCardinality(String),
    checked_at DateTime64(3, 'UTC'),
    INDEX by_time checked_at TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree(checked_at)
ORDER BY (call_id, chunk_id, iteration, agent, task, fragment_id);

CREATE OR REPLACE VIEW tool_checks_current AS
SELECT * FROM tool_checks FINAL;

-- How often each model distorts, by the worse of both arguments, and the flags that it would have changed.
CREATE OR REPLACE VIEW tool_call_distortions AS
SELECT
    caller_model, caller_prompt_version, mode,
    count() AS calls,
    countIf(fragment = 'exact' AND source = 'exact') AS exact,
    exact / calls AS exact_share,
    countIf(worst = 2) AS altered,
    countIf(worst = 3) AS truncated,
    countIf(worst = 4) AS swapped,
    countIf(worst = 5) AS invented,
    countIf(worst = 6) AS missing,
    countIf(change = 'hidden') AS hidden_flags,
    countIf(change = 'false') AS false_flags,
    countIf(change = 'unscored') AS unscored
FROM
(
    SELECT
        *,
        ['exact', 'altered', 'truncated', 'swapped', 'invented', 'missing'] AS kinds,
        greatest(indexOf(kinds, fragment), indexOf(kinds, source)) AS worst
    FROM tool_checks FINAL
)
GROUP BY caller_model, caller_prompt_version, mode;
