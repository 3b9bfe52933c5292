"""Programs behind few of PoCL's declarations, as tests have them built, are those that users have."""

import struct

import pyopencl as cl
import pytest
from conftest import POCL, own_session
from pocl_declarations import with_declarations

import clfrnn
from clfrnn import clouds
from clfrnn.runtime.program import ProgramCache


def test_declarations_that_are_left_out_change_no_kernel(session, monkeypatch):
    if session.profile.platform != POCL or not with_declarations("", session.device.driver_version):
        pytest.skip("only programs of the wheel's PoCL leave declarations out")
    fresh = own_session(session)
    in_tests, of_users = ProgramCache._built, ProgramCache._built.__wrapped__
    programs = []

    def remembered(cache, source, options):
        programs.append((source, options))
        return in_tests(cache, source, options)

    monkeypatch.setattr(ProgramCache, "_built", remembered)
    clfrnn.search(clouds.uniform(300, 2, seed=1), 0.1, method="uniform_grid", session=fresh)

    assert programs
    for source, options in programs:
        # PoCL adds kernels for sizes that some launch has asked for, and keeps them by the text that the preprocessor
        # leaves: nobody launches this one.
        text = f"{source}\ntypedef int never_launched;\n"
        few, all_of_them = (machine_code(built(fresh.programs, text, options)) for built in (in_tests, of_users))
        assert few
        assert sorted(few) == sorted(all_of_them)


def machine_code(program):
    """The section ``.text`` of each ELF file that PoCL has put into a program's binary."""
    (binary,) = program.get_info(cl.program_info.BINARIES)
    texts, start = [], binary.find(b"\x7fELF")
    while start >= 0:
        (table,) = struct.unpack_from("<Q", binary, start + 40)
        size, sections, of_names = struct.unpack_from("<HHH", binary, start + 58)
        headers = [struct.unpack_from("<IIQQQQ", binary, start + table + i * size) for i in range(sections)]
        names = start + headers[of_names][4]
        texts += [
            binary[start + offset : start + offset + length]
            for name, _, _, _, offset, length in headers
            if binary[names + name :].startswith(b".text\0")
        ]
        start = binary.find(b"\x7fELF", start + 4)
    return texts
