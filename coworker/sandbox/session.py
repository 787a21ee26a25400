def serve():
    import sys

    # The home may hold what another key of the user left: it comes last, also
    # for what is imported here. Before Python 3.11 it stands first by itself.
    sys.path[:] = [folder for folder in sys.path if folder not in ("", "/home/user")]
    import os
    import site

    # As in a run, whose driver says why.
    sys.path += [folder for folder in site.getsitepackages() if os.path.isdir(folder)]
    sys.path.append("")
    site.setquit()
    site.sethelper()
    os.set_inheritable(4, False)
    os.set_inheritable(5, False)
    sys.stdout.reconfigure(line_buffering=True, errors="backslashreplace")
    sys.stderr.reconfigure(errors="backslashreplace")
    names = sys.modules["__main__"].__dict__
    del names["serve"]
    import _ast

    read, write, pid, leave = os.read, os.write, os.getpid, os._exit
    streams, own, texts, limit = (sys.stdout, sys.stderr), os.getpid(), {}, 0

    def take(n):
        parts = []
        while n > 0:
            part = read(4, min(n, 65536))
            if not part:
                leave(0)
            parts.append(part)
            n -= len(part)
        return b"".join(parts)

    def flush():
        for stream in (sys.stdout, sys.stderr, *streams):
            try:
                stream.flush()
            except BaseException:
                pass

    def told(fault, name):
        import linecache
        import traceback

        for known, text in texts.items():
            linecache.cache[known] = (len(text), None, text.splitlines(True), known)
        trace = fault.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename != name:
            trace = trace.tb_next
        traceback.print_exception(type(fault), fault, trace)

    def perform(text, name):
        try:
            tree = compile(text, name, "exec", 0x400)
            last = None
            if tree.body and isinstance(tree.body[-1], _ast.Expr):
                last = _ast.Expression(tree.body.pop().value)
            exec(compile(tree, name, "exec"), names)
            if last is not None:
                value = eval(compile(last, name, "eval"), names)
                if value is not None:
                    return 0, repr(value).encode("utf-8", "backslashreplace")[:limit]
        except SystemExit as end:
            if end.code is None or isinstance(end.code, int):
                return (end.code or 0) & 255, b""
            print(end.code, file=sys.stderr)
            return 1, b""
        except BaseException as fault:
            try:
                told(fault, name)
            except BaseException:
                pass
            return 1, b""
        return 0, b""

    count = 0
    while True:
        ticket = take(16)
        limit = int.from_bytes(take(4), "big")
        text = take(int.from_bytes(take(4), "big")).decode("utf-8", "surrogateescape")
        count += 1
        name = f"<code {count}>"
        texts[name] = text
        texts.pop(f"<code {count - 50}>", None)
        code, value = perform(text, name)
        flush()
        if pid() != own:
            leave(code)  # a child that came out of the code is nobody's answer
        frame = ticket + bytes([code]) + len(value).to_bytes(4, "big") + value
        while frame:
            frame = frame[write(5, frame) :]


serve()
