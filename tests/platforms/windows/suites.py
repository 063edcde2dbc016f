"""The tests of other folders that are run once more on Windows, and those of them that are about something else."""

from __future__ import annotations

# What each part is, and how it is called from the root of the repository
SUITES = {
    "the guest's library and agent": ("tests/unit/guest",),
    "what a system promises": ("tests/contract/test_system.py",),
    "the test kit": ("tests/unit/testing",),
    "the commands": ("tests/unit/cli",),
    "the SQLite store": ("tests/contract/test_journal.py",),
}

# Files, or single tests, and why Windows has no part in them
NOT_THERE = {
    "tests/unit/guest/agent/test_sd_notify.py": "systemd",
    "tests/unit/guest/agent/test_install.py": "systemd; test_service.py of this folder is its twin",
    "tests/unit/cli/agent/test_service.py::test_install_and_uninstall_show_and_then_do_it": "the same",
    "tests/unit/cli/agent/test_service.py::test_install_refuses_what_it_cannot_do": "the same",
    "tests/unit/cli/agent/test_files.py::test_programs_that_steps_need_and_the_machine_lacks_are_told": "modes",
    "tests/unit/cli/test_demo_stays.py": "Linux's terminals",
    "tests/unit/cli/test_main.py::test_ctrl_c_ends_a_watch_quietly_with_130": "SIGINT, which nobody can send there",
    "tests/unit/cli/test_nodes.py::test_preparing_a_store_twice_changes_nothing": "PostgreSQL's server",
    "tests/unit/cli/test_notification_tables.py::test_what_is_right_is_read_and_the_address_is_not_shown": "Apprise",
    "tests/unit/cli/test_sim.py": "a simulation does not end under wine; why is not known",
    "tests/unit/testing/test_containers_loading.py::test_no_package_of_a_server_is_needed": "wants Testcontainers",
    "tests/unit/guest/test_dhcp.py": "Linux's sockets; test_telling.py of this folder asks Windows' own DHCP client",
}
# Parts of names, of tests that need what wine or Windows has not
NOT_MEANT = ("postgres", "apprise")
