"""The outside: settings, logging, metrics, Kafka, ClickHouse, model servers. Floor 2."""
