"""What pyvespa does against a gateway, by outcome: pyvespa_checks.py URL. One line per check; the caller counts them."""

import asyncio
import sys
from urllib.parse import urlsplit

from vespa.application import Vespa
from vespa.exceptions import VespaError

GROUP = "python"
DOCUMENTS = 40


def report(good: bool, what: str) -> None:
    print(f"{'ok' if good else 'FAILED'} pyvespa: {what}", flush=True)


def check(what: str, step) -> None:
    try:
        good, seen = step()
    except Exception as error:  # a client that throws is a failed check, not the end of the others
        good, seen = False, f"{type(error).__name__}: {error}"
    report(good, what if good else f"{what}: {str(seen)[:400]}")


def documents(prefix: str, group: str):
    fields = {"subject": f"{prefix} lease", "body": "the deposit " * 200, "year": 2024}
    return [{"id": f"{prefix}{i}", "fields": fields, "groupname": group} for i in range(DOCUMENTS)]


def feeds(feed, prefix: str, **options):
    statuses: list[int] = []
    feed(
        documents(prefix, GROUP),
        schema="mail",
        namespace="mail",
        callback=lambda response, _: statuses.append(response.status_code),
        **options,
    )
    return statuses == [200] * DOCUMENTS, statuses


def counts(app: Vespa, word: str) -> int:
    body = {"yql": f"select * from mail where subject contains '{word}'", "streaming.groupname": GROUP, "hits": 1}
    return app.query(body=body).number_documents_retrieved


def one_document(app: Vespa):
    key = {"schema": "mail", "data_id": "single", "namespace": "mail", "groupname": GROUP}
    put = app.feed_data_point(fields={"subject": "a single one", "emb": [1.0, 2.0, 3.0]}, **key)
    got = app.get_data(**key)
    fields = got.json["fields"]
    gone = app.delete_data(**key)
    missing = app.get_data(**key, raise_on_not_found=False)
    good = (put.status_code, got.status_code, gone.status_code, missing.status_code) == (200, 200, 200, 404)
    return good and fields["subject"] == "a single one" and fields["emb"]["values"] == [1.0, 2.0, 3.0], [
        answer.json for answer in (put, got, gone, missing)
    ]


def updates(app: Vespa):
    """A document that an update makes, with values and with operations; one in a group whose name wants encoding."""
    key = {"schema": "mail", "data_id": "a/b c", "namespace": "mail", "groupname": "group 1"}
    made = app.update_data(fields={"subject": "made", "year": 2001}, create=True, **key)
    raised = app.update_data(fields={"year": {"increment": 2}}, auto_assign=False, **key)
    held = app.update_data(fields={"subject": "held"}, condition="mail.year == 2003", **key)
    try:
        refused = app.feed_data_point(fields={"subject": "never"}, condition="mail.year < 2003", **key).status_code
    except VespaError as error:
        refused = "condition" in str(error).lower() and 412
    fields = app.get_data(**key).json["fields"]
    statuses = [*(answer.status_code for answer in (made, raised, held)), refused]
    app.delete_data(**key)
    return statuses == [200, 200, 200, 412] and fields == {"subject": "held", "year": 2003}, (statuses, fields)


def bulk_of_all_kinds(app: Vespa):
    key = {"schema": "mail", "namespace": "mail"}
    batch = [{"id": f"kind{i}", "fields": {"year": i}, "groupname": "kinds"} for i in range(6)]
    statuses: list[int] = []

    def callback(response, _):
        statuses.append(response.status_code)

    app.feed_iterable(batch[:4], operation_type="update", create=True, callback=callback, **key)
    app.feed_iterable(batch[:2], operation_type="delete", callback=callback, **key)
    app.feed_iterable(batch[4:], callback=callback, **key)
    body = {"yql": "select * from mail where true order by year", "streaming.groupname": "kinds", "hits": 10}
    years = [hit["fields"]["year"] for hit in app.query(body=body).hits]
    app.feed_iterable(batch, operation_type="delete", callback=callback, **key)
    return years == [2, 3, 4, 5] and statuses == [200] * 14, (years, statuses)


def compressed(app: Vespa):
    key = {"schema": "mail", "data_id": "compressed", "namespace": "mail", "groupname": GROUP}
    with app.syncio(compress=True) as session:
        put = session.feed_data_point(fields={"body": "x" * 5_000}, **key)
        got = session.get_data(**key)
        gone = session.delete_data(**key)
    good = [answer.status_code for answer in (put, got, gone)] == [200] * 3
    return good and got.json["fields"]["body"] == "x" * 5_000, [answer.json for answer in (put, gone)]


def ways_to_ask(app: Vespa):
    """By keywords in the URL, with the group as a word of its own, several at once, and in one session."""
    yql = "select * from mail where true"
    by_words = app.query(yql=yql, hits=1, groupname=GROUP)
    by_body = app.query(body={"yql": yql, "hits": 2}, groupname=GROUP)
    vector = {"ranking": "bm25", "input.query(q)": [1.0, 2.0, 3.0], "streaming.groupname": GROUP}
    by_vector = app.query(body={"yql": yql, "hits": 3, **vector})
    many = app.query_many([{"yql": yql, "hits": hits, "streaming.groupname": GROUP} for hits in (4, 5)])
    with app.syncio(connections=1) as session:
        one = session.query(body={"yql": yql, "hits": 6, "streaming.groupname": GROUP})
    found = [len(answer.hits) for answer in (by_words, by_body, by_vector, *many, one)]
    return found == [1, 2, 3, 4, 5, 6], found


def queries_at_once(app: Vespa):
    async def ask():
        async with app.asyncio(connections=1) as session:
            body = {"yql": "select * from mail where true", "streaming.groupname": GROUP}
            return await asyncio.gather(*[session.query(body={**body, "hits": hits}) for hits in range(1, 9)])

    answers = asyncio.run(ask())
    return [len(answer.hits) for answer in answers] == list(range(1, 9)), [answer.json for answer in answers[:1]]


def visited(app: Vespa, **options):
    answers = [
        answer
        for slice in app.visit("mail", schema="mail", namespace="mail", **options)
        for answer in slice
    ]
    ids = [document["id"] for answer in answers for document in answer.documents]
    return ids


def visits(app: Vespa):
    seen = {}
    for slices in (1, 3):
        ids = visited(app, selection="mail and id.group == 'python'", slices=slices, wanted_document_count=7)
        seen[slices] = (len(ids), len(set(ids)))
    return seen == {1: (2 * DOCUMENTS, 2 * DOCUMENTS), 3: (2 * DOCUMENTS, 2 * DOCUMENTS)}, seen


def delete_all(app: Vespa):
    key = {"schema": "note", "namespace": "scratch"}
    for number in range(9):
        app.feed_data_point(fields={"text": f"note {number}"}, data_id=str(number), **key)
    before = app.get_data(data_id="8", **key).status_code
    app.delete_all_docs(content_cluster_name="mail", slices=2, **key)
    after = [app.get_data(data_id=str(n), raise_on_not_found=False, **key).status_code for n in range(9)]
    return before == 200 and after == [404] * 9, (before, after)


def main() -> None:
    url = urlsplit(sys.argv[1])
    app = Vespa(url=f"{url.scheme}://{url.hostname}", port=url.port)
    check("the application is up", lambda: (app.wait_for_application_up(10) is None, "down"))
    check("put, get and delete of one document", lambda: one_document(app))
    check(f"feed_iterable of {DOCUMENTS}", lambda: feeds(app.feed_iterable, "sync", max_workers=4))
    check(f"feed_async_iterable of {DOCUMENTS} over HTTP/2", lambda: feeds(app.feed_async_iterable, "asynchronous"))
    check("the status of the application", lambda: ((got := app.get_application_status()).status_code == 200, got))
    check("updates, conditions and odd names", lambda: updates(app))
    check("feed_iterable of updates and deletes", lambda: bulk_of_all_kinds(app))
    check("compressed bodies", lambda: compressed(app))
    check("a query finds them all", lambda: ((found := counts(app, "lease")) == 2 * DOCUMENTS, found))
    check("a query finds one kind", lambda: ((found := counts(app, "asynchronous")) == DOCUMENTS, found))
    check("queries in every way there is", lambda: ways_to_ask(app))
    check("queries at once over HTTP/2", lambda: queries_at_once(app))
    check("visit in one slice and in three", lambda: visits(app))
    check("delete_all_docs removes all of a type and namespace", lambda: delete_all(app))


main()
