# SPDX-License-Identifier: MIT
"""bindings/python/check_table.py - checks for test.py: tables hold what events do, and Arrow reads them.

pyarrow is not needed: the capsules are read as the Arrow C data interface describes them.
"""
import ctypes
import gc
import sys

import duetread


class Schema(ctypes.Structure):
    pass


class Array(ctypes.Structure):
    pass


RELEASE = {kind: ctypes.CFUNCTYPE(None, ctypes.POINTER(kind)) for kind in (Schema, Array)}
Schema._fields_ = [("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_void_p),
                   ("flags", ctypes.c_int64), ("n_children", ctypes.c_int64),
                   ("children", ctypes.POINTER(ctypes.POINTER(Schema))), ("dictionary", ctypes.POINTER(Schema)),
                   ("release", ctypes.c_void_p), ("private", ctypes.c_void_p)]
Array._fields_ = [("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64),
                  ("n_buffers", ctypes.c_int64), ("n_children", ctypes.c_int64),
                  ("buffers", ctypes.POINTER(ctypes.c_void_p)), ("children", ctypes.POINTER(ctypes.POINTER(Array))),
                  ("dictionary", ctypes.POINTER(Array)), ("release", ctypes.c_void_p), ("private", ctypes.c_void_p)]
NUMBERS = {b"tsn:UTC": ctypes.c_int64, b"l": ctypes.c_int64, b"L": ctypes.c_uint64, b"g": ctypes.c_double,
           b"i": ctypes.c_int32}

pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def open_capsules(table):
    schema, array = table.__arrow_c_array__()
    return (schema, array, Schema.from_address(pointer_of(schema, b"arrow_schema")),
            Array.from_address(pointer_of(array, b"arrow_array")))


def values_of(schema, array):
    """The values of a column, as Arrow's consumers see them."""
    kind = NUMBERS[schema.format]
    values = list((kind * array.length).from_address(array.buffers[1])) if array.length else []
    assert array.n_buffers == 2 and not array.buffers[0] and not array.null_count and not array.offset
    if not schema.dictionary:
        return values
    texts = array.dictionary.contents
    assert schema.dictionary.contents.format == b"U" and texts.n_buffers == 3
    at = list((ctypes.c_int64 * (texts.length + 1)).from_address(texts.buffers[1])) if texts.length else []
    words = [ctypes.string_at(texts.buffers[2] + a, b - a).decode() for a, b in zip(at, at[1:])]
    return [words[v] for v in values]


def arrow_columns(table):
    _, _, schema, array = capsules = open_capsules(table)
    assert schema.format == b"+s" and schema.n_children == array.n_children and array.length == len(table)
    result = {}
    for i in range(schema.n_children):
        child = schema.children[i].contents
        result[child.name.decode()] = values_of(child, array.children[i].contents)
    del capsules
    return result


def plain_columns(table):
    result = {}
    for name, form, rows, texts in table.columns:
        values = memoryview(rows).cast(form).tolist()
        result[name] = values if texts is None else [texts[v] for v in values]
    return result


def release_in_any_order(table):
    """A child that was moved away outlives its parent; then nothing keeps the table."""
    before = sys.getrefcount(table)
    for kind, place in ((Schema, 2), (Array, 3)):
        capsules = open_capsules(table)
        parent, child, moved = capsules[place], capsules[place].children[0].contents, kind()
        ctypes.memmove(ctypes.byref(moved), ctypes.byref(child), ctypes.sizeof(kind))
        child.release = None
        RELEASE[kind](parent.release)(ctypes.byref(parent))
        if parent.release:
            return False
        RELEASE[kind](moved.release)(ctypes.byref(moved))
        del capsules, parent, child
    gc.collect()
    return sys.getrefcount(table) == before


def as_in_events(name, events, fields):
    """The columns that the events called @name should make, which have @fields.  Of fields of one name an event has the
    last value; None stands for the others."""
    mine = [e for e in events if e.name == name]
    columns = {"time": [e.time for e in mine], "cpu": [e.cpu for e in mine], "stream": [e.stream for e in mine]}
    for i, key in enumerate(fields):
        if mine and isinstance(mine[0].fields.get(key), (list, dict)):
            continue
        unique, n = key, 0
        while unique in columns:
            n += 1
            unique = "%s.%d" % (key, n)
        columns[unique] = None if key in fields[i + 1:] else [e.fields.get(key) for e in mine]
    return columns


def is_as_in_events(columns, wanted):
    """No column is missing, none is too much, and all have the values."""
    if list(columns) != list(wanted):
        return False
    # A label without a text is a number in events.
    return all(values is None or columns[key] == [str(x) if columns[key] and isinstance(columns[key][0], str) else x for x in values]
               for key, values in wanted.items())


def frame_agrees(table, columns):
    frame = table.to_pandas()
    for name, values in columns.items():
        found = frame[name].astype("int64") if name == "time" else frame[name]
        if found.tolist() != values:
            return False
    return len(frame) == len(table)


def check_tables(trace, events, check, refused):
    """Compares every event of the recording @trace."""
    wrong = []
    for name in {e.name for e in events if e.name is not None}:
        table = duetread.Reader(trace).table(name)
        wanted = as_in_events(name, events, next(fields for n, fields in duetread.Reader(trace).classes if n == name))
        columns = plain_columns(table)
        if len(columns) != len(table.columns) or not is_as_in_events(columns, wanted) or len(table) != len(wanted["time"]) or \
           arrow_columns(table) != columns:
            wrong.append(name)
        missing = dict(columns)
        missing.popitem()
        check(not is_as_in_events(missing, wanted), "a missing column of %s would be found" % name)
    check(not wrong, "tables hold what events do, and so does Arrow%s" % wrong)
    name = next(e.name for e in events if e.name is not None)
    r = duetread.Reader(trace)
    table = r.table(name, fields=())
    check([c[0] for c in table.columns] == ["time", "cpu", "stream"], "fields are chosen by name")
    check(refused(TypeError, r.table, name, "time") and refused(TypeError, r.table, name, b"time") and
          refused(TypeError, r.to_pandas, name, "cpu"), "one text is no list of names")
    check(len(r.table(name)) == 0, "a table reads to the end")
    r.seek(-2**63)
    check(len(r.table([n for n, _ in r.classes].index(name))) > 0, "a class is chosen by its number")
    check(refused(KeyError, r.table, "nothing:at_all") and refused(KeyError, r.table, 1 << 20) and
          refused(TypeError, r.table, None), "an event that is not there is a KeyError")
    check(refused(BufferError, table.columns[0][2].extend, b"x"), "the memory that Arrow reads cannot be moved")
    check(release_in_any_order(table), "parts of an Arrow array are released in any order")
    try:
        import pandas
    except ImportError:
        print("# pandas is not installed: to_pandas is not tried")
        return
    r.seek(-2**63)
    table = r.table(name)
    check(frame_agrees(table, plain_columns(table)), "a data frame of pandas %s has the same" % pandas.__version__)
