"""What can go wrong, by kind. Every message names what is wrong, where, and what to do."""


class FedWalkError(Exception):
    """Base of every error that fedwalk raises on purpose."""


class InputError(FedWalkError):
    """A graph, label or run file is missing, malformed or unusable."""


class SettingsError(FedWalkError):
    """A parameter is outside its range, or two of them contradict each other."""


class RunFolderError(FedWalkError):
    """A run folder holds something that must not be overwritten, or can't be resumed from."""


class BudgetError(FedWalkError):
    """A release would cost more privacy than the budget allows; it was not made."""


class ProtocolError(FedWalkError):
    """A party received a message that the protocol does not allow."""


class FedWalkWarning(UserWarning):
    """Something was repaired or ignored; the run goes on."""
