"""The server: one ASGI app for REST, MCP and a page, with what guards its door.

`app` puts it together, `gatekeeper` lets requests in, `caller` says what they may do, `problems` says errors to
clients, `receipts` carries a repeated request out once, `run_desk` runs dreams that clients asked for.
"""
