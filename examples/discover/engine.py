#!/usr/bin/env python3
"""A small discovery engine: what a caller of `legbook handoff` does itself.

    engine.py nominate SWEEP              leg 1: the pool, for `legbook handoff nominate`
    engine.py research                    leg 2: judged pool on stdin -> report, for `legbook handoff report`
    engine.py render                      leg 3: finalized report on stdin -> the brief, in Markdown
    engine.py whole SWEEP JUDGMENTS ANGLES
                                          all of it in one process, without legbook

The three legs and the whole must give the same brief, to the byte: nothing may be lost on the way through the store.
"""

import json
import sys
from datetime import datetime

# A nomination below this score is not worth a reader's time.
FLOOR = 4.0
# Where the host gave no worthiness.
UNJUDGED = 50


def nominate(sweep):
    """Groups the items of a sweep into nominations and scores them: the pool of leg 1."""
    clusters = {}
    for item in sweep["items"]:
        clusters.setdefault(item["cluster"], []).append(item)
    rows = []
    for cluster, items in clusters.items():
        title = items[0]["title"]
        junk = title.startswith(("How do I", "Is it just me"))
        nomination = {
            "name": title,
            "seed_score": velocity(items, sweep["to_date"]),
            "summary": items[0]["snippet"],
            "junk_shape": junk,
            "worthiness": None,
            "items": items,
        }
        heuristic = " ".join(title.split()[:4])
        rows.append({
            "cluster_id": cluster,
            "heuristic_name": heuristic,
            "heuristic_junk": junk,
            "nomination": nomination,
        })
    rows.sort(key=lambda row: -row["nomination"]["seed_score"])
    keys = ("domain", "tier", "from_date", "to_date", "context", "source_status", "warnings")
    return {key: sweep[key] for key in keys} | {"nominations": rows}


def judge(pool, judgments):
    """Applies judgments in memory; `legbook handoff judge` does it between processes."""
    by_id = {row["id"]: row for row in judgments["judgments"]}
    judged = []
    for number, row in enumerate(pool["nominations"], start=1):
        said = by_id.get(f"n{number}", {})
        judged.append(row | {
            "id": f"n{number}",
            "name": said.get("name", row["heuristic_name"]),
            "junk": said.get("junk", row["heuristic_junk"]),
            "worthiness": said.get("worthiness"),
            "judged": bool(said),
        })
    return pool | {"nominations": judged}


def research(judged):
    """Ranks what the host let through; gives the report and what the host needs to find angles."""
    topics = []
    for row in judged["nominations"]:
        items = row["nomination"]["items"]
        worthiness = UNJUDGED if row["worthiness"] is None else row["worthiness"]
        # Scored anew from the stored items, against the sweep's window and never against the clock of this process.
        score = velocity(items, judged["to_date"]) * worthiness / 100 * len(sources(items))
        if row["junk"] or score < FLOOR:
            continue
        topics.append({
            "id": row["id"],
            "name": row["name"],
            "score": score,
            "sources": sources(items),
            "interactions": sum(interactions(item) for item in items),
            "summary": row["nomination"]["summary"],
            "links": [item["url"] for item in items],
        })
    topics.sort(key=lambda topic: (-topic["score"], topic["name"]))
    report = {"from_date": judged["from_date"], "to_date": judged["to_date"], "topics": topics}
    inputs = {topic["id"]: {key: topic[key] for key in ("name", "summary", "sources")} for topic in topics}
    return report, inputs


def finalize(report, angles):
    """Puts the angles in; `legbook handoff finalize` does it between processes."""
    by_id = {row["id"]: row for row in angles["angles"]}
    for topic in report["topics"]:
        for key, angle in (("podcast", "podcast_angle"), ("x_article", "x_article_angle")):
            if key in by_id.get(topic["id"], {}):
                topic[angle] = by_id[topic["id"]][key]
    return report


def render(report, source_status, warnings):
    """The brief, in Markdown."""
    lines = [f"# What moved, {report['from_date']} to {report['to_date']}", ""]
    if not report["topics"]:
        lines += ["Nothing solid this window.", ""]
    for rank, topic in enumerate(report["topics"], start=1):
        lines += [
            f"## {rank}. {topic['name']}",
            "",
            f"{topic['summary']}",
            "",
            f"- score {topic['score']!r}, {topic['interactions']:,} interactions on {', '.join(topic['sources'])}",
        ]
        if "podcast_angle" in topic:
            lines.append(f"- podcast: {topic['podcast_angle']}")
        if "x_article_angle" in topic:
            lines.append(f"- article: {topic['x_article_angle']}")
        lines += [f"- <{link}>" for link in topic["links"]] + [""]
    missing = [name for name, outcome in source_status.items() if outcome["state"] not in ("ok", "no-results")]
    if missing:
        lines += [f"Not heard in full: {', '.join(missing)}.", ""]
    lines += [f"Note: {warning}" for warning in warnings]
    return "\n".join(lines).rstrip() + "\n"


def velocity(items, to_date):
    """Interactions an hour, younger items counting more; measured from the end of the window."""
    end = datetime.fromisoformat(to_date + "T23:59:59+00:00")
    total = 0.0
    for item in items:
        hours = (end - datetime.fromisoformat(item["published_at"])).total_seconds() / 3600
        total += interactions(item) / max(hours, 1.0) * item["relevance"]
    return total


def interactions(item):
    counted = {"reddit": ("score", "num_comments"), "hackernews": ("points", "comments"),
               "x": ("likes", "reposts", "replies", "quotes")}
    engagement = item["engagement"]
    return sum(engagement[key] for key in counted.get(item["source"], engagement))


def sources(items):
    return sorted({item["source"] for item in items})


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def main(arguments):
    verb, paths = arguments[0], arguments[1:]
    if verb == "nominate":
        json.dump(nominate(load(paths[0])), sys.stdout)
    elif verb == "research":
        judged = json.load(sys.stdin)
        report, inputs = research(judged)
        # The number of the judgments says from which ones this report was made.
        bound = {key: judged[key] for key in ("bundle_id", "judgments")}
        json.dump(bound | {"report": report, "angle_inputs": inputs}, sys.stdout)
    elif verb == "render":
        final = json.load(sys.stdin)
        sys.stdout.write(render(final["report"], final["source_status"], final["warnings"]))
    elif verb == "whole":
        sweep, judgments, angles = (load(path) for path in paths)
        judged = judge(nominate(sweep), judgments)
        report, _ = research(judged)
        sys.stdout.write(render(finalize(report, angles), sweep["source_status"], sweep["warnings"]))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")
    main(sys.argv[1:] or ["help"])
