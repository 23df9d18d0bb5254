-- Several consultants and tasks: a row is also of the agent that answered and of the task that it did. Both are empty in
-- rows of before, and where a run has one of each.

ALTER TABLE cleaned
    ADD COLUMN IF NOT EXISTS agent LowCardinality(String) COMMENT 'whose text is delivered; empty where it has no name',
    ADD COLUMN IF NOT EXISTS task LowCardinality(String) COMMENT 'the last one; empty where there is one';

-- In the key, so that agents and tasks keep their own rows. A new column may join a sorting key only where the same
-- statement adds it.
ALTER TABLE evaluations
    ADD COLUMN IF NOT EXISTS agent LowCardinality(String) COMMENT 'who answered; empty where it has no name',
    ADD COLUMN IF NOT EXISTS task LowCardinality(String) COMMENT 'empty where there is one',
    ADD COLUMN IF NOT EXISTS shadow Bool COMMENT 'answered beside another, and not delivered',
    ADD COLUMN IF NOT EXISTS step UInt32 COMMENT 'of the task, from 0',
    MODIFY ORDER BY (call_id, chunk_id, iteration, agent, task);

ALTER TABLE fragments
    ADD COLUMN IF NOT EXISTS agent LowCardinality(String) COMMENT 'who answered; empty where it has no name',
    ADD COLUMN IF NOT EXISTS task LowCardinality(String) COMMENT 'empty where there is one',
    ADD COLUMN IF NOT EXISTS shadow Bool COMMENT 'answered beside another, and not delivered',
    ADD COLUMN IF NOT EXISTS step UInt32 COMMENT 'of the task, from 0',
    MODIFY ORDER BY (call_id, chunk_id, iteration, fragment_id, agent, task);

-- The views of 0002, which see each agent's and task's rows by themselves.

CREATE OR REPLACE VIEW cleaned_current AS
SELECT * FROM cleaned FINAL;

-- Attempts that still stand. A chunk that a worker's death sent to the model a second time may have been accepted
-- earlier than the first time: an iteration counts only where every earlier one asked for a correction.
CREATE OR REPLACE VIEW evaluations_current AS
SELECT * EXCEPT (called_for)
FROM
(
    SELECT
        *,
        min(flagged AND outcome != 'degraded') OVER
        (
            PARTITION BY call_id, chunk_id, agent, task ORDER BY iteration
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS called_for
    FROM evaluations FINAL
)
WHERE called_for OR iteration = 0;

-- Fragments of those attempts. Another answer may have had more fragments; what is left of it has another time.
CREATE OR REPLACE VIEW fragments_current AS
SELECT *
FROM fragments FINAL
WHERE (call_id, chunk_id, agent, task, iteration, evaluated_at) IN
    (SELECT call_id, chunk_id, agent, task, iteration, evaluated_at FROM evaluations_current);

-- Which attempt stands for a chunk after each iteration of the corpus: the best so far, in the order in which the
-- evaluator takes them. A chunk accepted early stays in the later iterations, under the model that answered first.
CREATE OR REPLACE VIEW attempts_in_effect AS
SELECT
    call_id,
    chunk_id,
    agent,
    task,
    after_iteration,
    argMin(
        e.iteration,
        (e.outcome = 'failed', e.flagged_fragments, length(e.flags), -ifNull(e.mean_ss, 0), e.iteration)
    ) AS iteration,
    argMin(e.backend, e.iteration) AS backend,
    argMin(e.model, e.iteration) AS model,
    argMin(e.prompt_version, e.iteration) AS prompt_version
FROM evaluations_current AS e
ARRAY JOIN range(e.iteration, (SELECT max(iteration) + 1 FROM evaluations_current)) AS after_iteration
GROUP BY call_id, chunk_id, agent, task, after_iteration;

-- What the tables count, in two scopes:
--   scored  the fragments scored at this iteration (after iteration 0 only those of chunks that were sent back);
--   corpus  all fragments as they stand after this iteration (the paper's 32.6% to 4.7%).
CREATE OR REPLACE VIEW scored_fragments AS
SELECT
    'scored' AS scope, agent, task, backend, model, prompt_version, iteration,
    call_id, chunk_id, fragment_id, words, ss, ss_paper, threshold, flagged
FROM fragments_current
UNION ALL
SELECT
    'corpus' AS scope, a.agent AS agent, a.task AS task, a.backend AS backend, a.model AS model,
    a.prompt_version AS prompt_version,
    a.after_iteration AS iteration,
    f.call_id AS call_id, f.chunk_id AS chunk_id, f.fragment_id AS fragment_id, f.words AS words,
    f.ss AS ss, f.ss_paper AS ss_paper, f.threshold AS threshold, f.flagged AS flagged
FROM -- the larger side first, and without its texts: four times as fast
(
    SELECT call_id, chunk_id, agent, task, iteration, fragment_id, words, ss, ss_paper, threshold, flagged
    FROM fragments_current
) AS f
INNER JOIN attempts_in_effect AS a
    ON f.call_id = a.call_id AND f.chunk_id = a.chunk_id AND f.agent = a.agent AND f.task = a.task
    AND f.iteration = a.iteration;

CREATE OR REPLACE VIEW scored_chunks AS
SELECT 'scored' AS scope, agent, task, backend, model, prompt_version, iteration, call_id, chunk_id, flagged, outcome
FROM evaluations_current
UNION ALL
SELECT
    'corpus' AS scope, a.agent AS agent, a.task AS task, a.backend AS backend, a.model AS model,
    a.prompt_version AS prompt_version,
    a.after_iteration AS iteration,
    e.call_id AS call_id, e.chunk_id AS chunk_id, e.flagged AS flagged, e.outcome AS outcome
FROM (SELECT call_id, chunk_id, agent, task, iteration, flagged, outcome FROM evaluations_current) AS e
INNER JOIN attempts_in_effect AS a
    ON e.call_id = a.call_id AND e.chunk_id = a.chunk_id AND e.agent = a.agent AND e.task = a.task
    AND e.iteration = a.iteration;

-- Table 1: hallucination rate with its Wilson 95% interval. "By SS" is Algorithm 1 alone, as in the paper; "by rules" is
-- what the run flagged. Strict rules flag what guards see, and spare what only differs in case, fillers or numbers.
CREATE OR REPLACE VIEW table1_hallucination_rate AS
WITH
    ((k, n) -> k / n) AS share,
    ((k, n) -> greatest(0, (k + 1.9207294103470554 - 1.959963984540054
        * sqrt(k * (n - k) / n + 0.9603647051735277)) / (n + 3.841458820694124))) AS wilson_low,
    ((k, n) -> least(1, (k + 1.9207294103470554 + 1.959963984540054
        * sqrt(k * (n - k) / n + 0.9603647051735277)) / (n + 3.841458820694124))) AS wilson_high
SELECT
    scope, agent, task, backend, model, prompt_version, iteration,
    count() AS fragments,
    countIf(ss_paper < threshold) AS flagged_by_ss,
    share(flagged_by_ss, fragments) AS rate_by_ss,
    wilson_low(flagged_by_ss, fragments) AS rate_by_ss_low,
    wilson_high(flagged_by_ss, fragments) AS rate_by_ss_high,
    countIf(flagged) AS flagged_by_rules,
    share(flagged_by_rules, fragments) AS rate_by_rules,
    wilson_low(flagged_by_rules, fragments) AS rate_by_rules_low,
    wilson_high(flagged_by_rules, fragments) AS rate_by_rules_high
FROM scored_fragments
GROUP BY scope, agent, task, backend, model, prompt_version, iteration;

-- Table 2: mean similarity.
CREATE OR REPLACE VIEW table2_mean_ss AS
SELECT
    scope, agent, task, backend, model, prompt_version, iteration,
    count() AS fragments,
    avg(ss_paper) AS mean_ss_paper,
    avg(ss) AS mean_ss
FROM scored_fragments
GROUP BY scope, agent, task, backend, model, prompt_version, iteration;

-- Table 3: how many were flagged, fragments and chunks; a chunk may be flagged as a whole, with no fragment flagged.
CREATE OR REPLACE VIEW table3_flagged AS
SELECT
    scope, agent, task, backend, model, prompt_version, iteration,
    sum(n_fragments) AS fragments,
    sum(n_by_ss) AS flagged_by_ss,
    sum(n_by_guards) AS flagged_by_guards_alone,
    sum(n_flagged) AS flagged_by_rules,
    sum(n_chunks) AS chunks,
    sum(n_flagged_chunks) AS flagged_chunks,
    sum(n_failed) AS failed_chunks
FROM
(
    SELECT
        scope, agent, task, backend, model, prompt_version, iteration,
        1 AS n_fragments, ss_paper < threshold AS n_by_ss, flagged AND ss >= threshold AS n_by_guards,
        toUInt8(flagged) AS n_flagged, 0 AS n_chunks, 0 AS n_flagged_chunks, 0 AS n_failed
    FROM scored_fragments
    UNION ALL
    SELECT
        scope, agent, task, backend, model, prompt_version, iteration,
        0 AS n_fragments, 0 AS n_by_ss, 0 AS n_by_guards,
        0 AS n_flagged, 1 AS n_chunks, toUInt8(flagged) AS n_flagged_chunks, outcome = 'failed' AS n_failed
    FROM scored_chunks
)
GROUP BY scope, agent, task, backend, model, prompt_version, iteration;

-- Table 4: the distribution of similarity, of Algorithm 1 alone and of the mode; quartiles are interpolated.
CREATE OR REPLACE VIEW table4_distribution AS
SELECT
    scope, agent, task, backend, model, prompt_version, iteration, measure,
    count() AS fragments,
    if(fragments > 1, stddevSamp(value), NULL) AS std,
    min(value) AS minimum,
    quantileExactInclusive(0.25)(value) AS lower_quartile,
    quantileExactInclusive(0.5)(value) AS median,
    quantileExactInclusive(0.75)(value) AS upper_quartile,
    max(value) AS maximum
FROM
(
    SELECT scope, agent, task, backend, model, prompt_version, iteration, 'ss_paper' AS measure, ss_paper AS value
    FROM scored_fragments
    UNION ALL
    SELECT scope, agent, task, backend, model, prompt_version, iteration, 'ss' AS measure, ss AS value
    FROM scored_fragments
)
GROUP BY scope, agent, task, backend, model, prompt_version, iteration, measure;

-- Table 5: by the size of the chunk, in words of its source.
CREATE OR REPLACE VIEW table5_by_size AS
WITH
    ((k, n) -> k / n) AS share,
    ((k, n) -> greatest(0, (k + 1.9207294103470554 - 1.959963984540054
        * sqrt(k * (n - k) / n + 0.9603647051735277)) / (n + 3.841458820694124))) AS wilson_low,
    ((k, n) -> least(1, (k + 1.9207294103470554 + 1.959963984540054
        * sqrt(k * (n - k) / n + 0.9603647051735277)) / (n + 3.841458820694124))) AS wilson_high
SELECT
    scope, agent, task, backend, model, prompt_version, iteration,
    multiIf(words < 50, 'under 50', words <= 100, '50 to 100', 'over 100') AS size_class,
    uniqExact(call_id, chunk_id) AS chunks,
    count() AS fragments,
    countIf(ss_paper < threshold) AS flagged_by_ss,
    share(flagged_by_ss, fragments) AS rate_by_ss,
    wilson_low(flagged_by_ss, fragments) AS rate_by_ss_low,
    wilson_high(flagged_by_ss, fragments) AS rate_by_ss_high,
    countIf(flagged) AS flagged_by_rules,
    share(flagged_by_rules, fragments) AS rate_by_rules,
    wilson_low(flagged_by_rules, fragments) AS rate_by_rules_low,
    wilson_high(flagged_by_rules, fragments) AS rate_by_rules_high,
    avg(ss_paper) AS mean_ss_paper,
    avg(ss) AS mean_ss
FROM scored_fragments
GROUP BY scope, agent, task, backend, model, prompt_version, iteration, size_class;

-- The performance of each agent at each task: shares and similarity of the corpus as it stands after an iteration, the
-- latency of one answer, and the tokens of all.
CREATE OR REPLACE VIEW performance_matrix AS
SELECT
    answered.agent AS agent, answered.task AS task, answered.backend AS backend, answered.model AS model,
    answered.prompt_version AS prompt_version, step, shadow, chunks, ifNull(counted_fragments, 0) AS fragments,
    rate_0, rate_1, rate_2, mean_ss, p50_latency_ms, prompt_tokens, completion_tokens
FROM
(
    SELECT
        a.agent AS agent, a.task AS task, a.backend AS backend, a.model AS model, a.prompt_version AS prompt_version,
        max(e.step) AS step,
        max(e.shadow) AS shadow,
        uniqExact(e.call_id, e.chunk_id) AS chunks,
        quantileExactInclusive(0.5)(e.latency_ms) AS p50_latency_ms,
        sum(e.prompt_tokens) AS prompt_tokens,
        sum(e.completion_tokens) AS completion_tokens
    FROM
    (
        SELECT call_id, chunk_id, agent, task, step, shadow, latency_ms, prompt_tokens, completion_tokens
        FROM evaluations_current
    ) AS e
    INNER JOIN (SELECT * FROM attempts_in_effect WHERE after_iteration = 0) AS a
        ON e.call_id = a.call_id AND e.chunk_id = a.chunk_id AND e.agent = a.agent AND e.task = a.task
    GROUP BY agent, task, backend, model, prompt_version
) AS answered
LEFT JOIN
(
    SELECT
        agent, task, backend, model, prompt_version,
        toNullable(countIf(iteration = 0)) AS counted_fragments,
        avgOrNullIf(toUInt8(flagged), iteration = 0) AS rate_0,
        avgOrNullIf(toUInt8(flagged), iteration = 1) AS rate_1,
        avgOrNullIf(toUInt8(flagged), iteration = 2) AS rate_2,
        avgOrNullIf(ss, iteration = (SELECT max(iteration) FROM evaluations_current)) AS mean_ss
    FROM scored_fragments
    WHERE scope = 'corpus'
    GROUP BY agent, task, backend, model, prompt_version
) AS found
    ON answered.agent = found.agent AND answered.task = found.task AND answered.backend = found.backend
    AND answered.model = found.model AND answered.prompt_version = found.prompt_version;
