//! Where values come from, and which of them counts; and that secrets stay secret.

use tidegate_redis::Secret;
use tidegate_server::config::{Environment, Inputs, Override, load, read};
use tidegate_server::settings::{Settings, StoreSettings};

use crate::Folder;

/// Reads what a folder holds; an error as its text, without the folder's name.
fn load_from(
    folder: &Folder,
    file: Option<&str>,
    environment: &[(&str, &str)],
    flags: &[Override<'_>],
) -> Result<Settings, String> {
    let inputs = Inputs {
        file: file.map(|name| folder.path().join(name)),
        directory: folder.path().to_owned(),
        environment: environment.iter().copied().collect(),
        flags: flags.to_vec(),
    };
    let prefix = format!("{}/", folder.path().display());
    load(&inputs).map_err(|errors| errors.to_string().replace(&prefix, ""))
}

/// What is read from a text in this environment.
fn settings_in(text: &str, environment: &[(&str, &str)]) -> Result<Settings, String> {
    let environment: Environment = environment.iter().copied().collect();
    read("limits.yaml", text, &environment, &[]).map_err(|errors| errors.to_string())
}

#[test]
fn the_named_file_comes_before_the_variable_before_the_one_that_is_there() {
    let folder = Folder::new();
    folder.write("named.yaml", "listen: { http: :1 }");
    folder.write("config.yaml", "listen: { http: :3 }");
    let variable = folder.write("variable.yaml", "listen: { http: :2 }");
    let variable = variable.to_str().expect("text");
    let environment = [("TIDEGATE_CONFIG", variable)];
    let port = |file, environment: &[(&str, &str)]| {
        load_from(&folder, file, environment, &[]).map(|settings| settings.http.port)
    };
    assert_eq!(port(Some("named.yaml"), &environment), Ok(1));
    assert_eq!(port(None, &environment), Ok(2));
    assert_eq!(port(None, &[]), Ok(3));
    assert_eq!(port(None, &[("TIDEGATE_CONFIG", "")]), Ok(3));
    let source = load_from(&folder, None, &environment, &[]).map(|settings| settings.source);
    assert_eq!(source, Ok(variable.to_owned()));
}

/// P60: a missing file is an error where it was named, and says by what.
#[test]
fn a_named_file_that_is_missing_is_an_error() {
    let folder = Folder::new();
    assert_eq!(
        load_from(&folder, Some("none.yaml"), &[], &[]).map(|_| ()),
        Err(
            "none.yaml: cannot be read: No such file or directory (os error 2)\n  = this file was \
             named on the command line\n"
                .into()
        )
    );
    assert_eq!(
        load_from(&folder, None, &[("TIDEGATE_CONFIG", "/no/such.yaml")], &[]).map(|_| ()),
        Err(
            "/no/such.yaml: cannot be read: No such file or directory (os error 2)\n  = this file \
             was named by TIDEGATE_CONFIG\n"
                .into()
        )
    );
    assert!(load_from(&folder, None, &[], &[]).is_ok());
}

#[test]
fn a_flag_outranks_a_variable_which_outranks_the_file() {
    let folder = Folder::new();
    folder.write("config.yaml", "listen: { http: :1, grpc: :2 }\nstore: redis");
    let variables = [("TIDEGATE_LISTEN__HTTP", ":3"), ("STORE_BACKEND", "in_memory")];
    let flag = Override::flag("listen.http", "--listen-http", ":4");
    let ports = |environment: &[(&str, &str)], flags: &[Override<'_>]| {
        let settings = load_from(&folder, None, environment, flags).expect("settings");
        let memory = matches!(settings.store, StoreSettings::Memory(_));
        (settings.http.port, settings.grpc.port, memory)
    };
    assert_eq!(ports(&[], &[]), (1, 2, false));
    assert_eq!(ports(&variables, &[]), (3, 2, true));
    assert_eq!(ports(&variables, std::slice::from_ref(&flag)), (4, 2, true));
    assert_eq!(ports(&[], &[flag]), (4, 2, false));
}

#[test]
fn every_single_field_can_be_set_by_a_variable() {
    let settings = settings_in(
        "store: redis",
        &[
            ("TIDEGATE_STORE", "redis"),
            ("STORE_BACKEND", "in_memory"),
            ("TIDEGATE_LISTEN__GRPC", "127.0.0.1:5"),
            ("TIDEGATE_METRICS__PORT", "6"),
            ("TIDEGATE_ON_STORE_ERROR", "allow"),
            ("TIDEGATE_DRAIN_DELAY", "2s"),
            ("TIDEGATE_READY_REQUIRES_STORE", "true"),
            ("TIDEGATE_BACKENDS__REDIS__ADDR", "redis://me@host:7/1"),
            ("TIDEGATE_BACKENDS__REDIS__PASSWORD", "hunter2"),
            ("TIDEGATE_USE_ALGO", "fixed_window"),
            ("TIDEGATE_ALGO_SETTINGS__MAX_REQUESTS", "10"),
            ("TIDEGATE_ALGO_SETTINGS__WINDOW_SIZE", "1d"),
        ],
    )
    .expect("settings");
    let StoreSettings::Redis(redis) = &settings.store else {
        panic!("TIDEGATE_STORE outranks STORE_BACKEND");
    };
    assert_eq!(redis.address.to_string(), "host:7");
    assert_eq!(redis.username.as_deref(), Some("me"));
    assert_eq!(redis.db, 1);
    assert_eq!(redis.password.as_ref().map(Secret::reveal), Some("hunter2"));
    assert_eq!(settings.grpc.to_string(), "127.0.0.1:5");
    assert_eq!(settings.metrics.as_ref().map(|m| m.port), Some(6));
    assert!(settings.ready_requires_store);
    assert!(settings.policies.lookup("default").is_some());
}

/// The address's own database counts when the address outranks the field, also when it is 0.
#[test]
fn a_database_in_an_address_by_flag_outranks_the_file() {
    let folder = Folder::new();
    folder.write("config.yaml", "store: redis\nbackends: { redis: { db: 5 } }");
    let db = |addr| {
        let flags = [Override::flag("backends.redis.addr", "--redis-addr", addr)];
        match load_from(&folder, None, &[], &flags).expect("settings").store {
            StoreSettings::Redis(redis) => redis.db,
            StoreSettings::Memory(_) => panic!("not Redis"),
        }
    };
    assert_eq!(db("redis://h:1/0"), 0);
    assert_eq!(db("redis://h:1/3"), 3);
    assert_eq!(db("redis://h:1"), 5);
}

#[test]
fn a_port_for_metrics_by_flag_outranks_that_they_are_off() {
    for text in
        ["metrics: off", "metrics: { use_prometheus: false, port: 9 }", "metrics: { listen: :8 }"]
    {
        let flag = [Override::flag("metrics.listen", "--listen-metrics", ":7")];
        let settings = read("limits.yaml", text, &Environment::default(), &flag);
        let port = settings.map(|settings| settings.metrics.map(|metrics| metrics.port));
        assert_eq!(port, Ok(Some(7)), "{text}");
    }
}

#[test]
fn faults_in_variables_and_flags_name_them() {
    let folder = Folder::new();
    let environment = [("TIDEGATE_LISTEN__HTTP", "::1:80"), ("STORE_BACKEND", "rediss")];
    let flags = [Override::flag("drain_delay", "--drain-delay", "5 parsecs")];
    assert_eq!(
        load_from(&folder, None, &environment, &flags).map(|_| ()),
        Err("\
TIDEGATE_LISTEN__HTTP: listen.http: an IPv6 address needs brackets
  = write it like \"[::]:8080\" or 127.0.0.1:8080

STORE_BACKEND: store cannot be `rediss`
  = did you mean `redis`? it is one of: in_memory, redis

--drain-delay: drain_delay: \"5 parsecs\" is no length of time; write it like 500ms, 30s, 5min, 1h or 1d
"
        .into())
    );
}

#[test]
fn an_unknown_variable_is_an_error_with_a_suggestion() {
    let refused = |name: &str| settings_in("store: redis", &[(name, "1")]).map(|_| ());
    assert_eq!(
        refused("TIDEGATE_LISTEN_HTTP"),
        Err("TIDEGATE_LISTEN_HTTP: unknown variable\n  = did you mean TIDEGATE_LISTEN__HTTP?\n"
            .into())
    );
    assert_eq!(
        refused("TIDEGATE_POLICIES__API__LIMITS"),
        Err(
            "TIDEGATE_POLICIES__API__LIMITS: unknown variable\n  = a field's path in capitals with \
             __ between its parts, as in TIDEGATE_LISTEN__HTTP; policies are set in a file\n"
                .into()
        )
    );
    assert_eq!(
        refused("TIDEGATE_METRICS_PORT"),
        Err("TIDEGATE_METRICS_PORT: unknown variable\n  = did you mean TIDEGATE_METRICS__PORT?\n"
            .into())
    );
    assert!(refused("OTHER_TIDEGATE").is_ok());
}

#[test]
fn what_kubernetes_sets_for_a_service_named_tidegate_is_no_error() {
    let environment = [
        ("TIDEGATE_SERVICE_HOST", "10.0.0.1"),
        ("TIDEGATE_SERVICE_PORT", "8080"),
        ("TIDEGATE_SERVICE_PORT_HTTP", "8080"),
        ("TIDEGATE_PORT", "tcp://10.0.0.1:8080"),
        ("TIDEGATE_PORT_8080_TCP", "tcp://10.0.0.1:8080"),
        ("TIDEGATE_PORT_8080_TCP_ADDR", "10.0.0.1"),
        ("TIDEGATE_REDIS_PORT_6379_TCP_PROTO", "tcp"),
    ];
    let settings = settings_in("store: in_memory", &environment).expect("settings");
    assert_eq!(settings.http.port, 8080);
}

/// The password that a configuration arrives at.
fn password(text: &str, environment: &[(&str, &str)]) -> Option<String> {
    match settings_in(text, environment).expect("settings").store {
        StoreSettings::Redis(redis) => redis.password.map(|secret| secret.reveal().to_owned()),
        StoreSettings::Memory(_) => None,
    }
}

#[test]
fn a_secret_may_be_in_a_variable_or_a_file() {
    let folder = Folder::new();
    let file = folder.write("password", "hunter2\n").display().to_string();
    let environment = [("PW", "hunter2")];
    for redis in [
        "password: hunter2".to_owned(),
        "password: env:PW".to_owned(),
        format!("password: \"file:{file}\""),
        "addr: \"redis://me:hunter2@host\"".to_owned(),
        "addr: \"redis://me:env:PW@host\"".to_owned(),
        format!("addr: \"redis://:file:{file}@host/0\""),
    ] {
        let text = format!("store: redis\nbackends: {{ redis: {{ {redis} }} }}");
        assert_eq!(password(&text, &environment).as_deref(), Some("hunter2"), "{redis}");
    }
    let empty = "store: redis\nbackends: { redis: { password: \"\" } }";
    assert_eq!(password(empty, &[]), None);
}

#[test]
fn a_secret_that_is_not_there_is_an_error_only_when_it_is_needed() {
    let text = |store: &str, secret: &str| {
        format!("store: {store}\nbackends:\n  redis:\n    password: {secret}\n")
    };
    assert_eq!(
        settings_in(&text("redis", "env:PW"), &[]).map(|_| ()),
        Err("\
limits.yaml:4:15: password: the variable named after env: is not set, or is no text
4 |     password: ***
  |               ^^^
"
        .into())
    );
    let missing = settings_in(&text("redis", "file:/no/such"), &[]).expect_err("missing");
    assert!(missing.contains("the file named after file: cannot be read"), "{missing}");
    assert!(settings_in(&text("in_memory", "env:PW"), &[]).is_ok());
}

#[test]
fn a_secret_appears_in_no_error_and_no_debug_output() {
    for text in [
        "store: redis\nbackends: { redis: { password: hunter2, burts: 1 } }",
        "store: redis\nbackends: { redis: { burts: 1, password: \"hunter2\" } }",
        "store: redis\nbackends: { redis: { password: \"hun ter hunter2, burts: 1 } }",
        "store: redis\nbackends: { redis: { pasword: hunter2 } }",
        "store: redis\nbackends:\n  redis:\n    password:\n      hunter2: 1\n",
        "store: redis\nbackends:\n  redis:\n    password: [hunter2]\n",
        "store: redis\nbackends:\n  redis:\n    password: |\n      hunter2\n     \thunter2: [\n",
        "store: redis\nbackends:\n  redis:\n    password: hunter2: x\n",
        "store: redis\nbackends:\n  redis:\n    password: \"hunter2\n",
        "store: redis\nbackends:\n  redis:\n    password: !hunter2 hunter2\n",
        "store: redis\nbackends:\n  redis:\n    password: *hunter2\n",
        "store: redis\nbackends: { redis: { addr: \"redis://me:hunter2@host:port\" } }",
        "store: redis\nbackends: { redis: { addr: \"me:hunter2@host\" } }",
        "store: redis\nbackends: { redis: { addr: \"rediss://me:hunter2@host\" } }",
        "store: redis\nbackends: { redis: { adr: \"redis://me:hunter2@host\" } }",
        "store: redis\nbackends: { redis: { addr: \"redis://me:hunter2@host\", password: x } }",
    ] {
        let error = settings_in(text, &[]).expect_err(text);
        assert!(!error.contains("hunter2"), "{error}");
    }
    for (name, value) in [
        ("TIDEGATE_BACKENDS__REDIS__ADDR", "redis://me:hunter2@host:port"),
        ("TIDEGATE_BACKENDS__REDIS__DB", "hunter2"),
        ("TIDEGATE_BACKENDS__REDIS__PASWORD", "hunter2"),
    ] {
        let error = settings_in("store: redis", &[(name, value)]).expect_err(name);
        assert!(error.starts_with(name), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
    }
    let text = "store: redis\nbackends: { redis: { addr: \"redis://me:hunter2@host\" } }";
    let settings = settings_in(text, &[]).expect("settings");
    assert!(!format!("{settings:?}").contains("hunter2"));
    let environment: Environment =
        [("TIDEGATE_BACKENDS__REDIS__PASSWORD", "hunter2")].into_iter().collect();
    assert!(!format!("{environment:?}").contains("hunter2"));
}

#[test]
fn a_file_that_is_not_text_or_too_large_is_refused() {
    let folder = Folder::new();
    folder.write("latin1.yaml", b"store: redis\n# caf\xe9\n");
    assert_eq!(
        load_from(&folder, Some("latin1.yaml"), &[], &[]).map(|_| ()),
        Err("latin1.yaml:2:6: not UTF-8 from here on\n  = save the file as UTF-8\n".into())
    );
    folder.write("large.yaml", vec![b'#'; (64 << 20) + 1]);
    assert_eq!(
        load_from(&folder, Some("large.yaml"), &[], &[]).map(|_| ()),
        Err("large.yaml: is larger than 64 MiB\n  = split it between several instances\n".into())
    );
}
