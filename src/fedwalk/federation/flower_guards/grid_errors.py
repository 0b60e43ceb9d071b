"""Errors by which Flower's grid says that a holder, or the SuperLink itself, didn't answer."""

import httpx
from flwr.common.constant import ErrorCode

NODE_UNAVAILABLE: int = ErrorCode.NODE_UNAVAILABLE
"""The holder missed its heartbeats: its machine or its link is down."""
CLIENT_APP_CRASHED: int = ErrorCode.CLIENT_APP_CRASHED
"""The holder's process ended before it answered."""
GridError = httpx.HTTPError
"""The SuperLink didn't answer the server's own process."""
