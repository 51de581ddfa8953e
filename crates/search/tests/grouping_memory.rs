//! A grouping with too many groups, or with a filter that takes too long, is refused by a clear error, in one partition and
//! over several, and before it takes much memory. Where Linux tells what a process has taken, that is looked at.
#[path = "search/host/mod.rs"]
mod host;

use std::fs;

use host::Host;
use serde_json::json;

const SCHEMA: &str = "schema log { document log {
    field numbers type array<int> { indexing: summary | attribute }
    field n type int { indexing: summary | attribute }
} }";
/// Each of them in a group of each other one: nine million groups, which would take more than a gigabyte.
const NUMBERS: usize = 3_000;
/// How much the process may grow, MiB: what groups may take, and several times that for how memory is handed out.
const GROWTH_MIB: usize = 200;

/// A number of the process's status, MiB.
fn status_mib(name: &str) -> Option<usize> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim_start_matches(':').trim().trim_end_matches(" kB").parse::<usize>().ok().map(|kilobytes| kilobytes >> 10)
}

#[test]
fn too_many_groups_are_refused_and_do_not_fill_the_memory() {
    let mut host = Host::with_schema("log", SCHEMA);
    for number in 0..4 {
        let fields = json!({"numbers": (0..NUMBERS).collect::<Vec<_>>(), "n": number});
        host.put(&format!("id:l:log:g={}:{number}", ["a", "b"][number % 2]), &fields.to_string()).unwrap();
    }
    let before = status_mib("VmRSS");
    let forgets_peak = fs::write("/proc/self/clear_refs", "5").is_ok();
    let pairs = "select * from log where true limit 0 | \
                 all(group(numbers) max(1) each(group(numbers) max(1) each(output(count()))))";
    let one = host.search("g:a", &[("yql", pairs), ("timeout", "50s")]);
    let all = [("yql", pairs), ("timeout", "50s"), ("streaming.selection", "true")];
    let many = host.search_scoped(&all, "", "", 1);
    for answer in [one, many] {
        assert_eq!(answer.status, 400, "{}", answer.body);
        let message = answer.json["root"]["errors"][0]["message"].as_str().unwrap().to_owned();
        assert!(message.starts_with("The grouping takes more than 48 MiB of memory"), "{message}");
        assert!(message.ends_with("Group by something that has fewer values, or narrow the query down."), "{message}");
    }
    if let (Some(before), Some(peak), true) = (before, status_mib("VmHWM"), forgets_peak) {
        assert!(peak < before + GROWTH_MIB, "{before} MiB grew to {peak} MiB");
    }
    // What fits is answered as ever.
    let few = "select * from log where n < 2 limit 0 | all(group(numbers) max(1) each(output(count())))";
    assert_eq!(host.search("g:a", &[("yql", few), ("timeout", "50s")]).status, 200);
}

#[test]
fn patterns_of_filters_are_bounded() {
    let mut host = Host::with_schema(
        "log",
        "schema log { document log { field line type string { indexing: summary | attribute } } }",
    );
    let fields = json!({"line": "x".repeat(200_000)});
    host.put("id:l:log:g=a:1", &fields.to_string()).unwrap();
    let request = |pattern: &str| {
        let filter = format!("all(group(1) filter(regex(\"{pattern}\", line)) each(output(count())))");
        host.search("g:a", &[("yql", &format!("select * from log where true limit 0 | {filter}")), ("timeout", "50s")])
    };
    assert_eq!(request("x+").status, 200);
    let refused = request(".*(x{1,99}){1,9}y");
    assert_eq!(refused.status, 400, "{}", refused.body);
    let message = refused.json["root"]["errors"][0]["message"].as_str().unwrap();
    assert!(message.starts_with("A pattern of a filter takes more than"), "{message}");
}
