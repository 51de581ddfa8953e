//! What services.xml may hold, and what is done with it.

/// A child element that is known.
pub(super) struct Entry {
    pub(super) name: &'static str,
    pub(super) treatment: Treatment,
}

/// What is done with an element.
#[derive(Clone, Copy)]
pub(super) enum Treatment {
    /// It is read.
    Read,
    /// It concerns how Vespa runs, which has no counterpart here.
    Ignore,
    /// It asks for something that is not done; answers are the same without it.
    Warn(&'static str),
    /// Answers would be others without it.
    Refuse,
    /// It was taken once, and does not belong there: without effect, and objected to.
    Stray,
}

use Treatment::{Ignore, Read, Refuse, Stray, Warn};

const fn entry(name: &'static str, treatment: Treatment) -> Entry {
    Entry { name, treatment }
}

const BINDING: Treatment = Warn("the paths of the HTTP interface are fixed");
const JAVA: Treatment = Warn(JAVA_IS_NOT_RUN);
/// Why what is written in Java is passed over.
pub(super) const JAVA_IS_NOT_RUN: &str = "Java code cannot be run";
/// Why configuration is passed over.
pub(super) const NO_COUNTERPART: &str = "configuration overrides have no counterpart";
const CONFIG: Treatment = Warn(NO_COUNTERPART);

pub(super) const SERVICES: &[Entry] = &[
    entry("container", Read),
    entry("content", Read),
    entry("admin", Ignore),
    entry("legacy", Ignore),
    entry("config", CONFIG),
    entry("routing", Warn("there is one route")),
];

pub(super) const CONTAINER: &[Entry] = &[
    entry("search", Read),
    entry("document-api", Read),
    entry("document-processing", Read),
    entry("http", Read),
    entry("accesslog", Ignore),
    entry("client", Stray),
    entry("client-authorize", Warn("access is configured with the server")),
    entry("clients", Warn("access is configured with the server")),
    entry("component", Read),
    entry("components", Read),
    entry("config", CONFIG),
    entry("handler", JAVA),
    entry("health-check", Stray),
    entry("include", Refuse),
    entry("inference", Ignore),
    entry("jvm", Stray),
    entry("model-evaluation", Read),
    entry("nodes", Read),
    entry("processing", JAVA),
    entry("resources", Stray),
    entry("rest-api", Stray),
    entry("secret-store", Warn("secrets are configured with the server")),
    entry("secrets", Warn("secrets are configured with the server")),
    entry("server", JAVA),
    entry("threadpool", Ignore),
    entry("zookeeper", Ignore),
];

pub(super) const CONTAINER_SEARCH: &[Entry] = &[
    entry("binding", BINDING),
    entry("chain", Read),
    entry("config", CONFIG),
    entry("federation", Refuse),
    entry("include", Refuse),
    entry("provider", Read),
    entry("renderer", JAVA),
    entry("searcher", Refuse),
    entry("significance", Read),
    entry("threadpool", Ignore),
];

pub(super) const SIGNIFICANCE: &[Entry] = &[entry("model", Read)];

pub(super) const DOCUMENT_API: &[Entry] = &[
    entry("ignore-undefined-fields", Read),
    entry("abortondocumenterror", Ignore),
    entry("binding", BINDING),
    entry("config", CONFIG),
    entry("http-client-api", Ignore),
    entry("max-document-size", Warn("the size of documents is limited by the server")),
    entry("maxpendingbytes", Ignore),
    entry("maxpendingdocs", Ignore),
    entry("mbusport", Ignore),
    entry("rest-api", Ignore),
    entry("retrydelay", Ignore),
    entry("retryenabled", Ignore),
    entry("route", Ignore),
    entry("threadpool", Stray),
    entry("timeout", Ignore),
    entry("tracelevel", Ignore),
];

pub(super) const DOCUMENT_PROCESSING: &[Entry] = &[
    entry("chain", Refuse),
    entry("config", CONFIG),
    entry("documentprocessor", Refuse),
    entry("include", Refuse),
    entry("maxmessagesinqueue", Stray),
    entry("threadpool", Ignore),
];

pub(super) const COMPONENTS: &[Entry] = &[entry("component", Read), entry("include", Refuse)];

pub(super) const MODEL_EVALUATION: &[Entry] = &[entry("onnx", Read)];

pub(super) const ONNX: &[Entry] = &[entry("models", Read)];

pub(super) const MODELS: &[Entry] = &[entry("model", Read)];

/// How the runtime is to run a model; values are checked where they are read.
pub(super) const MODEL: &[Entry] = &[
    entry("execution-mode", Read),
    entry("gpu-device", Read),
    entry("interop-threads", Read),
    entry("intraop-threads", Read),
];

pub(super) const HTTP: &[Entry] = &[
    entry("server", Warn("the port is configured with the server")),
    // Filters may be access control, which must not vanish unnoticed.
    entry("filtering", Refuse),
];

pub(super) const CONTENT: &[Entry] = &[
    entry("documents", Read),
    entry("search", Read),
    entry("tuning", Read),
    entry("cluster-controller", Stray),
    entry("config", Read),
    entry("controllers", Ignore),
    entry("coverage-policy", Ignore),
    entry("dispatch", Ignore),
    entry("engine", Ignore),
    entry("group", Ignore),
    entry("min-redundancy", Ignore),
    entry("nodes", Read),
    entry("redundancy", Ignore),
];

pub(super) const CONTENT_SEARCH: &[Entry] =
    &[entry("query-timeout", Read), entry("coverage", Ignore), entry("visibility-delay", Ignore)];

pub(super) const TUNING: &[Entry] = &[
    entry("max-document-size", Read),
    entry("bucket-splitting", Ignore),
    entry("cluster-controller", Ignore),
    entry("dispatch", Ignore),
    entry("distribution", Ignore),
    entry("maintenance", Ignore),
    entry("merges", Ignore),
    entry("min-node-ratio-per-group", Ignore),
    entry("persistence-threads", Ignore),
    entry("readiness", Stray),
    entry("resource-limits", Ignore),
    entry("visitors", Ignore),
];

pub(super) const DOCUMENTS: &[Entry] = &[entry("document", Read), entry("document-processing", Read)];

/// Machines, of a container or a content cluster.
pub(super) const NODES: &[Entry] =
    &[entry("environment-variables", Ignore), entry("jvm", Ignore), entry("node", Read), entry("resources", Ignore)];

/// Attributes that were taken once, and do not belong there: without effect, and objected to.
pub(super) const STRAY_ATTRIBUTES: &[(&str, &str)] = &[
    ("search", "version"),
    ("document-api", "version"),
    ("document-processing", "chain"),
    ("document-processing", "cluster"),
];

/// The attributes of each element that is looked into.
pub(super) const ATTRIBUTES: &[(&str, &[&str])] = &[
    ("services", &["version", "application-type", "minimum-required-vespa-version"]),
    ("container", &["id", "version", "deprecated", "jetty"]),
    ("content", &["id", "version", "distributor-base-port"]),
    ("search", &[]),
    ("document-api", &[]),
    (
        "document-processing",
        &[
            "compressdocuments",
            "containercorememory",
            "documentexpansionfactor",
            "maxconcurrentfactor",
            "maxmessagesinqueue",
            "maxqueuebytesize",
            "maxqueuewait",
            "numnodesperclient",
            "preferlocalnode",
        ],
    ),
    (
        "nodes",
        &[
            "allocated-memory",
            "core-on-oom",
            "count",
            "cpu-socket-affinity",
            "docker-image",
            "exclusive",
            "flavor",
            "group-size",
            "groups",
            "jvm-gc-options",
            "jvm-options",
            "mmap-core-limit",
            "no-vespamalloc",
            "preload",
            "profile",
            "required",
            "type",
            "vespamalloc",
            "vespamalloc-debug",
            "vespamalloc-debug-stacktrace",
        ],
    ),
    (
        "node",
        &[
            "baseport",
            "capacity",
            "core-on-oom",
            "cpu-socket",
            "distribution-key",
            "hostalias",
            "jvm-gc-options",
            "jvm-options",
            "mmap-core-limit",
            "no-vespamalloc",
            "preload",
            "vespamalloc",
            "vespamalloc-debug",
            "vespamalloc-debug-stacktrace",
        ],
    ),
    ("documents", &["selection", "garbage-collection", "garbage-collection-interval"]),
    ("document", &["type", "mode", "selection", "global"]),
    ("components", &[]),
    ("http", &[]),
    ("model-evaluation", &[]),
    ("onnx", &[]),
    ("models", &[]),
    ("model", &["name"]),
    ("provider", &["id", "type", "cluster"]),
    ("significance", &[]),
    ("tuning", &[]),
];
