"""The REST interface below `/api/v1`: a file per kind of resource; it holds no rule that the library lacks.

`requests` reads what every request has, `replies` makes answers, `bodies` and `shapes` describe what is sent and what
is answered for the OpenAPI document, `api` puts the routes together.
"""
