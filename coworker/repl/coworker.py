"""Calls services of the organization through the server; no credential needed.

    import coworker
    answer = coworker.call("github", "GET", "/user/repos", query={"per_page": 5})
    for repository in answer["data"]: ...

call() takes what the tool connector_execute takes, except confirm, and returns
the same answer. A refusal is raised as coworker.Error.
"""

import http.client as _http
import json as _json

__all__ = ["call", "Error"]


class Error(Exception):
    """A refusal: code, message, retryable, and hint and details if there are any."""

    def __init__(self, fault):
        self.code = fault.get("code", "INTERNAL")
        self.message = fault.get("message", "")
        self.retryable = bool(fault.get("retryable"))
        self.hint = fault.get("hint", "")
        self.details = fault.get("details")
        super().__init__(": ".join(part for part in (self.code, self.message, self.hint) if part))


def call(service, method, path="", query=None, body=None, module=None, **more):
    """Call a service and return its answer: a dict with status, class, data, page and more."""
    wish = {"service": service, "method": method, "path": path, "query": query, "body": body, "module": module, **more}
    text = _json.dumps({name: value for name, value in wish.items() if value is not None}).encode()
    connection = _http.HTTPConnection("127.0.0.1", 3128, timeout=120)
    try:
        connection.request("POST", "/coworker/call", text, {"Content-Type": "application/json"})
        response = connection.getresponse()
        try:
            answer = _json.loads(response.read())
        except ValueError:
            answer = {"error": {"code": "INTERNAL", "message": "The server did not answer in JSON."}}
    except OSError as fault:
        raise Error({"code": "INTERNAL", "message": "The server cannot be reached: " + str(fault)}) from None
    finally:
        connection.close()
    if "error" in answer:
        raise Error(answer["error"])
    return answer["answer"]
