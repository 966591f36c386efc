"""What a principal may and may not, the same on a stock broker 3.9.1 and on this server."""
