"""The settings of a run, and reading them from TOML files. `Settings` is defined in `protocols/settings.py`."""

import tomllib
from pathlib import Path
from typing import Any

from fedwalk.errors import SettingsError
from fedwalk.protocols.settings import CHOICES, INPUT, PRESETS, Setting, Settings, check_read

__all__ = ["CHOICES", "INPUT", "PRESETS", "Setting", "Settings", "check_read", "load_settings", "read_toml"]


def load_settings(path: str | Path) -> Settings:
    """Read settings from a TOML file, without its table [input], which names the graph."""
    return Settings.from_mapping({k: v for k, v in read_toml(path).items() if k != INPUT}, str(path))


def read_toml(path: str | Path) -> dict[str, Any]:
    """Read a TOML file as a mapping; SettingsError says where it is wrong."""
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"{path}: can't be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"{path}: is not valid TOML: {error}.") from error
