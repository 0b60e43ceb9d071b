"""`python -m fedwalk.federation.guarded_superlink BYTES NOTES …`: Flower's SuperLink with our doorkeeper in front."""

import sys
from pathlib import Path


def main() -> None:
    """Put the doorkeeper where Flower takes middleware from, then be `flower-superlink`."""
    from flwr.superlink import extensions
    from flwr.superlink.cli import flower_superlink
    from starlette.middleware import Middleware

    from fedwalk.federation.doorkeeper import Doorkeeper

    largest, notes = int(sys.argv.pop(1)), Path(sys.argv.pop(1))
    before = extensions.get_middleware
    extensions.get_middleware = lambda: (Middleware(Doorkeeper, largest_answer=largest, notes=notes), *before())
    flower_superlink()


if __name__ == "__main__":
    main()
