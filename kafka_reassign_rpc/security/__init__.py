"""Who is at the other end of a connection. No sockets, no event loop.

bad_setting.py   the error of a security setting, and text that never shows
tls/             keystores, contexts and principals of TLS
"""
