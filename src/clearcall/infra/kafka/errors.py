"""What can go wrong with a broker of our own.

BrokerError
├── NoBroker      this machine cannot run one; the text says what to install
└── StartFailed   it was started and did not come up; the text ends with its log
"""


class BrokerError(RuntimeError):
    """A broker of our own cannot be had."""


class NoBroker(BrokerError):
    """This machine lacks what the broker needs."""


class StartFailed(BrokerError):
    """The broker ended, or did not answer in time."""
