"""The MCP interface, over HTTP at `/mcp` and over stdio: tools, resources and a prompt.

`server` puts it together, `offered` says what each tool is and may do, `memory_tools` and `dream_tools` are the tools,
`resources` shows documents and runs, `guide.md` tells an agent how to use its memory.
"""
