"""Messages between the parties of a federation, as typed values and as bytes, and the limits on both."""
