"""Kafka brokers of our own, for tests, ``clearcall run`` and ``clearcall demo``; never for production."""
