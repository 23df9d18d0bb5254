-- The performance database: who changed what, when, and how it was scored.
--
-- Every table is a ReplacingMergeTree on the deterministic id of its message, so ORDER BY must be that id: a call's
-- chunks, their iterations and their fragments then lie side by side, which is how one reads a call, and near-equal
-- texts compress well. The version is the message's own time, not the time of insertion: a redelivered old message
-- never covers a later re-scoring. There is no partitioning by time: a row scored again in another month would never
-- meet its older self in a merge. A min-max index on the time serves "last week" instead, and a set index the model.
-- Similarities are Float64, since a Float32 can cross the threshold by rounding.

CREATE TABLE IF NOT EXISTS cleaned
(
    call_id String,
    chunk_id UInt32,
    speaker UInt32,
    start Nullable(Float64) COMMENT 'seconds into the call',
    end Nullable(Float64),
    source_text String CODEC(ZSTD(3)),
    text String CODEC(ZSTD(3)) COMMENT 'what is delivered',
    words UInt32 COMMENT 'of the source',
    status LowCardinality(String),
    iteration UInt32 COMMENT 'of the attempt that was taken',
    attempts UInt32 COMMENT 'scored on the way, the initial response included',
    backend LowCardinality(String),
    model LowCardinality(String),
    prompt_version LowCardinality(String),
    decoding LowCardinality(String),
    mode LowCardinality(String),
    threshold Float64,
    clearcall_version LowCardinality(String),
    cleaned_at DateTime64(3, 'UTC'),
    INDEX by_time cleaned_at TYPE minmax GRANULARITY 1,
    INDEX by_status status TYPE set(16) GRANULARITY 4,
    INDEX by_model model TYPE set(64) GRANULARITY 4
)
ENGINE = ReplacingMergeTree(cleaned_at)
ORDER BY (call_id, chunk_id);

CREATE TABLE IF NOT EXISTS evaluations
(
    call_id String,
    chunk_id UInt32,
    iteration UInt32 COMMENT '0 is the initial response, 1 and 2 its corrections',
    speaker UInt32,
    source_text String CODEC(ZSTD(3)),
    words UInt32 COMMENT 'of the source',
    cleaned String CODEC(ZSTD(3)) COMMENT 'the answer that was scored',
    outcome LowCardinality(String),
    failure LowCardinality(String) COMMENT 'empty where the model answered',
    flagged Bool,
    fragments UInt32,
    flagged_fragments UInt32,
    min_ss Nullable(Float64),
    mean_ss Nullable(Float64),
    flags Array(Tuple(guard LowCardinality(String), reason String, cleaned Array(UInt32), source Array(UInt32)))
        COMMENT 'of the chunk as a whole; cleaned and source are [start, end) in characters, or empty',
    latency_ms Float64,
    prompt_tokens UInt32,
    completion_tokens UInt32,
    backend LowCardinality(String),
    model LowCardinality(String),
    prompt_version LowCardinality(String),
    decoding LowCardinality(String),
    mode LowCardinality(String),
    threshold Float64,
    fragment_words UInt32,
    fragment_overlap UInt32,
    clearcall_version LowCardinality(String),
    evaluated_at DateTime64(3, 'UTC'),
    INDEX by_time evaluated_at TYPE minmax GRANULARITY 1,
    INDEX by_model model TYPE set(64) GRANULARITY 4
)
ENGINE = ReplacingMergeTree(evaluated_at)
ORDER BY (call_id, chunk_id, iteration);

CREATE TABLE IF NOT EXISTS fragments
(
    call_id String,
    chunk_id UInt32,
    iteration UInt32,
    fragment_id UInt32,
    speaker UInt32,
    words UInt32 COMMENT 'of the chunk''s source: its size class',
    text String CODEC(ZSTD(3)),
    cleaned_start UInt32 COMMENT 'in characters of the cleaned chunk',
    cleaned_end UInt32,
    ss Float64 COMMENT 'similarity of the mode, 0 to 100',
    ss_paper Float64 COMMENT 'similarity of Algorithm 1 alone, 0 to 100',
    source_text String CODEC(ZSTD(3)) COMMENT 'the best window, as it was said',
    flagged Bool COMMENT 'below the threshold, or a guard fired',
    flags Array(Tuple(guard LowCardinality(String), reason String, cleaned Array(UInt32), source Array(UInt32))),
    backend LowCardinality(String),
    model LowCardinality(String),
    prompt_version LowCardinality(String),
    decoding LowCardinality(String),
    mode LowCardinality(String),
    threshold Float64,
    clearcall_version LowCardinality(String),
    evaluated_at DateTime64(3, 'UTC'),
    INDEX by_time evaluated_at TYPE minmax GRANULARITY 1,
    INDEX by_model model TYPE set(64) GRANULARITY 4
)
ENGINE = ReplacingMergeTree(evaluated_at)
ORDER BY (call_id, chunk_id, iteration, fragment_id);

CREATE TABLE IF NOT EXISTS alerts
(
    fingerprint String,
    raised_at DateTime64(3, 'UTC'),
    state LowCardinality(String),
    monitor LowCardinality(String),
    observed Float64,
    reference Float64,
    p_value Float64,
    calls UInt32,
    summary String,
    backend LowCardinality(String),
    model LowCardinality(String),
    prompt_version LowCardinality(String),
    decoding LowCardinality(String),
    clearcall_version LowCardinality(String)
)
ENGINE = ReplacingMergeTree
ORDER BY (fingerprint, raised_at);

-- The stage is part of the id: two stages read transcripts.evaluations, and each may refuse the same record.
CREATE TABLE IF NOT EXISTS dead_letters
(
    topic LowCardinality(String),
    partition UInt32,
    offset UInt64,
    stage LowCardinality(String),
    reason LowCardinality(String),
    detail String,
    errors Array(String),
    record_key Nullable(String) COMMENT 'base64 of the original bytes; NULL is Kafka''s null',
    record_value Nullable(String) CODEC(ZSTD(3)),
    record_headers Array(Tuple(name String, value Nullable(String))),
    record_timestamp Nullable(Float64) COMMENT 'seconds of the epoch',
    truncated Bool COMMENT 'the original bytes were too many to keep',
    clearcall_version LowCardinality(String),
    died_at DateTime64(3, 'UTC'),
    INDEX by_time died_at TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree(died_at)
ORDER BY (topic, partition, offset, stage);
