"""The errors that fedwalk raises. Every message says what is wrong, where, and what to do about it."""


class FedWalkError(Exception):
    """Base class of all errors that fedwalk raises."""


class InputError(FedWalkError):
    """A graph, label or run file is missing, malformed or unusable."""


class SettingsError(FedWalkError):
    """A parameter is outside its range, or two of them contradict each other."""


class RunFolderError(FedWalkError):
    """A run folder has files that must not be overwritten, or that can't be read or resumed."""


class BudgetError(FedWalkError):
    """A release would cost more privacy than the budget allows; it was not made."""


class ProtocolError(FedWalkError):
    """A party received a message that the protocol does not allow."""


class FedWalkWarning(UserWarning):
    """Something was repaired or ignored; the run continues."""
