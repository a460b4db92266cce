"""The server: its own page, its own address, and nothing else."""

import http.client
import shutil
import socket
import struct
from pathlib import Path

import pytest

from randpos.errors import UserError
from randpos.results.page.sections import Picture
from randpos.results.page.serve import Site, fingerprint, make_server, serve
from randpos.store.tables import StoreTables
from tests.results.stores import packed


def ask(port: int, path: str = "/", method: str = "GET", host: str | None = None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    connection.putrequest(method, path, skip_host=True)
    if host != "":
        connection.putheader("Host", host or f"127.0.0.1:{port}")
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body.decode()


def test_it_serves_the_page_and_its_version(port: int, site: Site) -> None:
    answer, page = ask(port)
    assert answer.status == 200
    assert "62.5" in page
    assert answer.headers["X-Frame-Options"] == "DENY"
    answer, version = ask(port, "/version")
    assert (answer.status, version) == (200, site.current()[0])
    assert f'name="version" content="{version}"' in page
    assert "connect-src 'self'" in page


def test_other_hosts_are_refused(port: int) -> None:
    others = ("evil.example", f"evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "")
    for host in (*others, f"localhost.a:{port}"):
        answer, body = ask(port, host=host)
        assert answer.status in (400, 403), host
        assert "62.5" not in body
    assert ask(port, host=f"localhost:{port}")[0].status == 200


def test_there_is_nothing_else_to_get(port: int) -> None:
    others = ("/runs.parquet", "/store/", "/../runs.parquet", "/%2e%2e/", "/version/", "/?x", "*")
    for path in others:
        answer, body = ask(port, path)
        assert answer.status == 404, path
        assert body == "There is only one page here: /\n"


def test_other_methods_are_refused_without_being_repeated(port: int) -> None:
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "<script>"):
        answer, body = ask(port, method=method)
        assert answer.status == 501, method
        assert "script" not in body


def test_a_head_is_the_answer_without_its_body(port: int) -> None:
    for path in ("/", "/version", "/else"):
        (head, nothing), (answer, body) = ask(port, path, "HEAD"), ask(port, path)
        assert nothing == ""
        assert head.status == answer.status
        assert head.headers["Content-Length"] == str(len(body.encode()))
        assert ask(port, path, "HEAD", host="evil.example")[0].status == 403


@pytest.mark.parametrize("request_", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: {}\r\n\r\n"])
def test_a_client_that_hangs_up_is_not_worth_a_word(
    port: int, site: Site, capfd: pytest.CaptureFixture[str], request_: bytes
) -> None:
    linger = struct.pack("ii", 1, 0)  # closing then resets the connection
    for _ in range(5):
        with socket.create_connection(("127.0.0.1", port), timeout=300) as client:
            client.sendall(request_.replace(b"{}", f"127.0.0.1:{port}".encode()))
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    assert ask(port)[0].status == 200
    assert capfd.readouterr() == ("", "")


def test_another_error_is_reported_in_one_line(site: Site) -> None:
    def fail() -> None:
        try:
            raise ValueError("x")
        except ValueError:
            server.handle_error(None, None)  # type: ignore[arg-type]

    with make_server(site, 0) as server, pytest.warns(UserWarning, match=r"sent: ValueError\("):
        fail()


def test_it_listens_on_loopback_only(site: Site) -> None:
    with make_server(site, 0) as server:
        assert server.server_address[0] == "127.0.0.1"


def test_the_page_follows_the_store(port: int, site: Site) -> None:
    before = ask(port, "/version")[1]
    packed(site.store, 0.625, 0.875)
    after = ask(port, "/version")[1]
    assert before != after
    assert "87.5" in ask(port)[1]


def test_nothing_is_made_anew_while_nothing_changes(site: Site) -> None:
    page = site.current()[1]
    assert site.current()[1] is page


def test_the_last_page_stays_when_the_store_goes(tmp_path: Path) -> None:
    site = Site(packed(tmp_path / "store", 0.5), pause=0.0)
    version, page = site.current()
    shutil.rmtree(site.store)
    with pytest.warns(UserWarning, match="no such folder"):
        assert site.current() == (version, page)


def test_logs_and_checkpoints_do_not_change_the_page(tmp_path: Path) -> None:
    store = packed(tmp_path / "store", 0.5)
    first = fingerprint(store)
    (store / "abc" / "checkpoints").mkdir(parents=True)
    for name in ("metrics.jsonl", "checkpoints/1.json", ".partial-1.json"):
        (store / "abc" / name).write_text("x")
    assert fingerprint(store) == first
    (store / "abc" / "result.json").write_text("{}")
    assert fingerprint(store) != first


def test_links_out_of_the_store_are_not_followed(tmp_path: Path) -> None:
    store = packed(tmp_path / "store", 0.5)
    (tmp_path / "other").mkdir()
    (store / "link").symlink_to(tmp_path / "other")
    first = fingerprint(store)
    (tmp_path / "other" / "result.json").write_text("{}")
    assert fingerprint(store) == first


def test_a_used_port_is_a_sentence(port: int, site: Site) -> None:
    with pytest.raises(UserError, match=f"port {port} cannot be used"):
        make_server(site, port)
    with pytest.raises(UserError, match="port 70000 cannot be used"):
        make_server(site, 70000)


def test_serving_what_is_no_store_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no such folder"):
        serve(tmp_path / "missing", 0)


def test_figures_are_made_of_the_records(tmp_path: Path) -> None:
    def figures(records: StoreTables) -> dict[str, Picture]:
        return {f"{records.runs.height} runs": Picture(b"<svg/>")}

    page = Site(packed(tmp_path / "store", 0.5, 0.6), figures).current()[1]
    assert b"<figcaption><strong>2 runs.</strong></figcaption>" in page
