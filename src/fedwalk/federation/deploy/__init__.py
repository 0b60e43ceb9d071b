"""Running a federation as processes: starting, stopping and inspecting them, starting and following a run."""
