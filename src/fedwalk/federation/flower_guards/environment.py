"""Environment variables by which Flower's processes are told to send and download nothing."""

FLOWER_VARIABLES = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    # Otherwise the server's app could name packages that each holder installs and runs.
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
    # Seconds between two polls for a new task; with Flower's default of one second every phase of a run starts late.
    "FLWR_SUPEREXEC_TASK_POLL_INTERVAL": "0.2",
}
