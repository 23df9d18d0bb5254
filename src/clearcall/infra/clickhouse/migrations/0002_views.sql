-- Plain views over deduplicated rows (FINAL): nothing is counted at insertion, so a redelivered row never counts twice.

CREATE OR REPLACE VIEW cleaned_current AS
SELECT * FROM cleaned FINAL;

CREATE OR REPLACE VIEW dead_letters_current AS
SELECT * FROM dead_letters FINAL;

-- The last word on each alert.
CREATE OR REPLACE VIEW alerts_current AS
SELECT * FROM alerts FINAL ORDER BY raised_at DESC LIMIT 1 BY fingerprint;

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
            PARTITION BY call_id, chunk_id ORDER BY iteration
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS called_for
    FROM evaluations FINAL
)
WHERE called_for OR iteration = 0;

-- Fragments of those attempts. Another answer may have had more fragments; what is left of it has another time.
CREATE OR REPLACE VIEW fragments_current AS
SELECT *
FROM fragments FINAL
WHERE (call_id, chunk_id, iteration, evaluated_at) IN
    (SELECT call_id, chunk_id, iteration, evaluated_at FROM evaluations_current);

-- Which attempt stands for a chunk after each iteration of the corpus: the best so far, in the order in which the
-- evaluator takes them. A chunk accepted early stays in the later iterations, under the model that answered first.
CREATE OR REPLACE VIEW attempts_in_effect AS
SELECT
    call_id,
    chunk_id,
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
GROUP BY call_id, chunk_id, after_iteration;

-- What the tables count, in two scopes:
--   scored  the fragments scored at this iteration (after iteration 0 only those of chunks that were sent back);
--   corpus  all fragments as they stand after this iteration (the paper's 32.6% to 4.7%).
CREATE OR REPLACE VIEW scored_fragments AS
SELECT
    'scored' AS scope, backend, model, prompt_version, iteration,
    call_id, chunk_id, fragment_id, words, ss, ss_paper, threshold, flagged
FROM fragments_current
UNION ALL
SELECT
    'corpus' AS scope, a.backend AS backend, a.model AS model, a.prompt_version AS prompt_version,
    a.after_iteration AS iteration,
    f.call_id AS call_id, f.chunk_id AS chunk_id, f.fragment_id AS fragment_id, f.words AS words,
    f.ss AS ss, f.ss_paper AS ss_paper, f.threshold AS threshold, f.flagged AS flagged
FROM -- the larger side first, and without its texts: four times as fast
(
    SELECT call_id, chunk_id, iteration, fragment_id, words, ss, ss_paper, threshold, flagged FROM fragments_current
) AS f
INNER JOIN attempts_in_effect AS a
    ON f.call_id = a.call_id AND f.chunk_id = a.chunk_id AND f.iteration = a.iteration;

CREATE OR REPLACE VIEW scored_chunks AS
SELECT 'scored' AS scope, backend, model, prompt_version, iteration, call_id, chunk_id, flagged, outcome
FROM evaluations_current
UNION ALL
SELECT
    'corpus' AS scope, a.backend AS backend, a.model AS model, a.prompt_version AS prompt_version,
    a.after_iteration AS iteration,
    e.call_id AS call_id, e.chunk_id AS chunk_id, e.flagged AS flagged, e.outcome AS outcome
FROM (SELECT call_id, chunk_id, iteration, flagged, outcome FROM evaluations_current) AS e
INNER JOIN attempts_in_effect AS a
    ON e.call_id = a.call_id AND e.chunk_id = a.chunk_id AND e.iteration = a.iteration;

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
    scope, backend, model, prompt_version, iteration,
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
GROUP BY scope, backend, model, prompt_version, iteration;

-- Table 2: mean similarity.
CREATE OR REPLACE VIEW table2_mean_ss AS
SELECT
    scope, backend, model, prompt_version, iteration,
    count() AS fragments,
    avg(ss_paper) AS mean_ss_paper,
    avg(ss) AS mean_ss
FROM scored_fragments
GROUP BY scope, backend, model, prompt_version, iteration;

-- Table 3: how many were flagged, fragments and chunks; a chunk may be flagged as a whole, with no fragment flagged.
CREATE OR REPLACE VIEW table3_flagged AS
SELECT
    scope, backend, model, prompt_version, iteration,
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
        scope, backend, model, prompt_version, iteration,
        1 AS n_fragments, ss_paper < threshold AS n_by_ss, flagged AND ss >= threshold AS n_by_guards,
        toUInt8(flagged) AS n_flagged, 0 AS n_chunks, 0 AS n_flagged_chunks, 0 AS n_failed
    FROM scored_fragments
    UNION ALL
    SELECT
        scope, backend, model, prompt_version, iteration,
        0 AS n_fragments, 0 AS n_by_ss, 0 AS n_by_guards,
        0 AS n_flagged, 1 AS n_chunks, toUInt8(flagged) AS n_flagged_chunks, outcome = 'failed' AS n_failed
    FROM scored_chunks
)
GROUP BY scope, backend, model, prompt_version, iteration;

-- Table 4: the distribution of similarity, of Algorithm 1 alone and of the mode; quartiles are interpolated.
CREATE OR REPLACE VIEW table4_distribution AS
SELECT
    scope, backend, model, prompt_version, iteration, measure,
    count() AS fragments,
    if(fragments > 1, stddevSamp(value), NULL) AS std,
    min(value) AS minimum,
    quantileExactInclusive(0.25)(value) AS lower_quartile,
    quantileExactInclusive(0.5)(value) AS median,
    quantileExactInclusive(0.75)(value) AS upper_quartile,
    max(value) AS maximum
FROM
(
    SELECT scope, backend, model, prompt_version, iteration, 'ss_paper' AS measure, ss_paper AS value
    FROM scored_fragments
    UNION ALL
    SELECT scope, backend, model, prompt_version, iteration, 'ss' AS measure, ss AS value
    FROM scored_fragments
)
GROUP BY scope, backend, model, prompt_version, iteration, measure;

-- Table 5: by the size of the chunk, in words of its source.
CREATE OR REPLACE VIEW table5_by_size AS
WITH
    ((k, n) -> k / n) AS share,
    ((k, n) -> greatest(0, (k + 1.9207294103470554 - 1.959963984540054
        * sqrt(k * (n - k) / n + 0.9603647051735277)) / (n + 3.841458820694124))) AS wilson_low,
    ((k, n) -> least(1, (k + 1.9207294103470554 + 1.959963984540054
        * sqrt(k * (n - k) / n + 0.9603647051735277)) / (n + 3.841458820694124))) AS wilson_high
SELECT
    scope, backend, model, prompt_version, iteration,
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
GROUP BY scope, backend, model, prompt_version, iteration, size_class;
