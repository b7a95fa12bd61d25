"""What the server tells about its own work: metrics, traces and logs. Nothing here names a user or an organization."""
