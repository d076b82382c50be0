"""The REST interface below `/api/v1`: a file per kind of resource; it holds no rule that the library lacks.

`requests` reads what every request has, `replies` makes answers, `shapes` describes both for the OpenAPI document.
"""
