"""What pyvespa does against a gateway, by outcome: pyvespa_checks.py URL. One line per check; the caller counts them."""

import asyncio
import sys
from urllib.parse import urlsplit

from vespa.application import Vespa

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
    check("a query finds them all", lambda: ((found := counts(app, "lease")) == 2 * DOCUMENTS, found))
    check("a query finds one kind", lambda: ((found := counts(app, "asynchronous")) == DOCUMENTS, found))
    check("queries at once over HTTP/2", lambda: queries_at_once(app))
    check("visit in one slice and in three", lambda: visits(app))
    check("delete_all_docs removes all of a type and namespace", lambda: delete_all(app))


main()
