"""Reading conversations: which turns are new, how a prompt shows them, and what they bear out.

What every pass shares that makes memories of turns; the passes themselves stand beside this package.
"""
