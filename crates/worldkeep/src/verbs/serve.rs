//! `worldkeep serve`: opens the store, says what it found, listens, and stops in good order. Everything that
//! can be wrong is found before the first request, and each is a sentence with its exit code.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use kernel::keyspace::Layout;
use kernel::{Clock as _, Deadline, Kind, ServerClock, Status, Store, SystemClock};
use server::settings::{Name, Settings, Source, names};
use server::tls::Identity;
use server::{App, Bound};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::party::Guests;
use super::{backups, door, party};
use crate::cli::{Global, Serve};
use crate::config::plain;
use crate::exit::Failure;
use crate::{config, logs, open, print};

/// How often the store's time is read.
const CLOCK_EVERY: Duration = Duration::from_secs(5);

/// Flags as a layer of settings.
pub(super) fn flags(global: &Global, serve: Option<&Serve>) -> Vec<(Name, String, &'static str)> {
    let mut all = Vec::new();
    let mut add = |name: Name, text: Option<String>, flag: &'static str| {
        if let Some(text) = text {
            all.push((name, text, flag));
        }
    };
    add(names::redis, global.redis.clone(), "--redis");
    add(names::data, global.data.as_ref().map(|dir| dir.display().to_string()), "--data");
    add(names::layout, global.layout.map(|layout| layout.word().to_owned()), "--layout");
    if let Some(serve) = serve {
        add(names::http, serve.http.clone(), "--http");
        add(names::resp, serve.resp.clone(), "--resp");
        let mut file = |name: Name, path: &Option<std::path::PathBuf>, flag: &'static str| {
            add(name, path.as_ref().map(|path| path.display().to_string()), flag);
        };
        file(names::tls_cert, &serve.tls_cert, "--tls-cert");
        file(names::tls_key, &serve.tls_key, "--tls-key");
        file(names::resp_tls_cert, &serve.resp_tls_cert, "--resp-tls-cert");
        file(names::resp_tls_key, &serve.resp_tls_key, "--resp-tls-key");
        file(names::resp_tls_client_ca, &serve.resp_tls_client_ca, "--resp-tls-client-ca");
        add(names::modules, serve.modules.clone(), "--modules");
        add(names::demo, serve.demo.then(|| "on".into()), "--demo");
        add(names::demo, serve.no_demo.then(|| "off".into()), "--no-demo");
        add(names::log, serve.log.clone(), "--log");
    }
    all
}

pub(super) fn run(global: &Global, flags_given: &Serve) -> Result<(), Failure> {
    run_with(global, flags_given, None)
}

/// The same, with a party's listener at this address.
pub(super) fn run_with(
    global: &Global,
    flags_given: &Serve,
    party: Option<&str>,
) -> Result<(), Failure> {
    let flags = flags(global, Some(flags_given));
    let mut settings = config::load(global.config.as_deref(), std::env::vars(), &flags)?;
    if let Some(address) = party {
        settings.set("rooms.party", address, Source::Flag("--address".into()))?;
    }
    // A flag for the one store silences a setting for the other: the nearer wish wins.
    if global.data.is_some() && global.redis.is_none() {
        settings.set(names::redis, "", Source::Flag("--data".into()))?;
    }
    server::modules::choose(&settings.server.modules).map_err(Failure::usage)?;
    logs::start(&settings)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::failed(format!("cannot start: {error}")))?;
    let ended = runtime.block_on(serve(global, settings));
    // Tasks that still run after the wait are cut off; the store's log is on disk already.
    runtime.shutdown_timeout(Duration::from_millis(200));
    ended
}

async fn serve(global: &Global, settings: Settings) -> Result<(), Failure> {
    // The port first: a second server must not touch the first one's data before it finds out.
    let listener = if engine_alone(&settings) {
        None
    } else {
        let tls = Identity::http(&settings).map_err(Failure::usage)?;
        Some(Bound { tcp: listen(settings.server.http.as_deref()).await?, tls })
    };
    let guests = party::open(&settings).await?.filter(|_| listener.is_some());
    let data = settings.server.data.as_deref().map(Into::into);
    let opened = open::store(settings.server.redis.as_deref(), data, open::Absent::Make).await?;
    let store = opened.store;
    let stop = CancellationToken::new();
    signals(stop.clone())?;
    if let Some(embedded) = &opened.embedded {
        embedded.engine().set_script_memory(settings.server.script_memory_bytes);
        // Before anybody is let in: no earlier owner of the directory lives.
        server::orphans::end_leases(&store, &settings, SystemClock::new().now_ms()).await?;
    }
    let status = store.status();
    check_layout(&settings, &status)?;
    let door = match settings.server.resp.as_deref() {
        Some(address) => {
            Some(door::open(&settings, opened.embedded.as_ref(), &store, address).await?)
        }
        None => None,
    };
    let mut warnings: Vec<String> = status.warnings.iter().map(kernel::Said::sentence).collect();
    warnings.extend(exposed(global, &settings, &status));
    // Only what really listens is announced: everything that can be refused was refused before.
    let resp = door.as_ref().map(|door| {
        let s = if settings.server.resp_tls_cert.is_some() { "s" } else { "" };
        format!("redis{s}://{}", door.addr())
    });
    let announce = |listener: Option<&Bound>, demo: bool| {
        if let Some(guests) = guests.as_ref().filter(|_| global.json) {
            guests.tell_programs(&listener.map(dashboard).unwrap_or_default());
        } else if !global.quiet {
            announce(listener, resp.as_deref(), guests.as_ref(), (&status, &warnings), demo);
        }
        notify("READY=1");
    };
    let Some(listener) = listener else {
        announce(None, false);
        tracing::info!(place = status.address, "the engine alone listens");
        stop.cancelled().await;
        return Ok(());
    };
    check_exposure(&settings, &listener.tcp, &*store).await?;
    let backups = backups::plan(global, &settings, &*store)?;
    let maker = backups::maker(global, &settings, &*store);
    let app = prepare(settings, store).await?;
    if let Some(maker) = maker {
        let _ = app.backups.maker.set(maker);
    }
    if let Some(guests) = &guests {
        let _ = app.party_url.set(guests.url.clone());
    }
    announce(Some(&listener), app.demo());
    tracing::info!("started");
    if let Some(backups) = backups {
        app.tasks.spawn(backups.keep(Arc::clone(&app)));
    }
    run_server(&app, listener, guests.map(|guests| guests.listener), stop).await
}

/// Secrets that others on this machine can read, each with the command that ends it.
fn exposed(global: &Global, settings: &Settings, status: &Status) -> Vec<String> {
    use std::os::unix::fs::PermissionsExt as _;
    let mut all = Vec::new();
    let told = global.redis.as_deref().filter(|_| global.redis_file.is_none());
    if told.is_some_and(|url| server::settings::hide_password(url) != url) {
        all.push(
            "the password in --redis can be seen by everybody with `ps`; \
             write the URL to a file of mode 600 and use --redis-file FILE, or WORLDKEEP_REDIS_FILE"
                .to_owned(),
        );
    }
    let dir = settings.server.data.as_deref().map(str::to_owned);
    let dir = dir.or_else(|| (status.kind == Kind::Embedded).then(|| status.address.clone()));
    let dir = std::path::PathBuf::from(dir.unwrap_or_default());
    // Within a directory that nobody else may enter, the rights of a file do not matter.
    let wide = |found: std::fs::Metadata| found.permissions().mode() & 0o077 != 0;
    if std::fs::metadata(&dir).is_ok_and(wide) {
        let dir = dir.display();
        all.push(format!(
            "others can read {dir}, which holds secrets; mend it: chmod -R go= {dir}"
        ));
    }
    all
}

/// Without modules and with a RESP door, HTTP is served only where it was asked for.
fn engine_alone(settings: &Settings) -> bool {
    settings.server.resp.as_deref().is_some()
        && settings.server.modules == ["none"]
        && settings.get(names::http).source == Source::Default
}

/// The server with its clock and its modules, ready for the first request.
async fn prepare(settings: Settings, store: Arc<dyn Store>) -> Result<Arc<App>, Failure> {
    let by = Deadline::after(Duration::from_secs(2));
    let clock = Arc::new(ServerClock::start(&*store, Arc::new(SystemClock::new()), by).await?);
    tokio::spawn(Arc::clone(&clock).keep(Arc::clone(&store), CLOCK_EVERY));
    let app = App::new(settings, store, clock).map_err(Failure::usage)?;
    for module in &app.modules {
        if let Some(start) = module.start {
            start(Arc::clone(&app)).await.map_err(Failure::failed)?;
        }
    }
    Ok(app)
}

async fn run_server(
    app: &Arc<App>,
    listener: Bound,
    party: Option<TcpListener>,
    stop: CancellationToken,
) -> Result<(), Failure> {
    server::serve_with_party(Arc::clone(app), listener, party, stop)
        .await
        .map_err(|error| Failure::failed(format!("stopped listening: {}", plain(&error))))?;
    for module in &app.modules {
        if let Some(stop) = module.stop {
            stop(Arc::clone(app)).await;
        }
    }
    tracing::info!("stopped");
    Ok(())
}

async fn listen(address: Option<&str>) -> Result<TcpListener, Failure> {
    let address = address.unwrap_or("127.0.0.1:7070").replace("localhost", "127.0.0.1");
    TcpListener::bind(&address).await.map_err(|error| cannot_listen(&address, "--http", &error))
}

pub(super) fn cannot_listen(address: &str, flag: &str, error: &std::io::Error) -> Failure {
    let advice = match error.kind() {
        std::io::ErrorKind::AddrInUse => {
            "another program listens there; stop it or choose another port with"
        }
        std::io::ErrorKind::PermissionDenied => "choose a port above 1023 with",
        _ => "choose an address of this machine with",
    };
    Failure::failed(format!("cannot listen on {address}: {}; {advice} {flag}", plain(error)))
}

/// Modules whose steps span slots cannot work with plain keys on a Cluster.
fn check_layout(settings: &Settings, status: &Status) -> Result<(), Failure> {
    if status.kind != Kind::Cluster || settings.server.layout != Layout::Plain {
        return Ok(());
    }
    let chosen = server::modules::choose(&settings.server.modules).map_err(Failure::usage)?;
    let spanning: Vec<&str> = chosen
        .iter()
        .filter(|module| !(module.plain_on_cluster)(settings))
        .map(|module| module.name)
        .collect();
    if spanning.is_empty() {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "{} is a Cluster, where the plain keys of {} do not share a slot; \
         start with --layout tagged, or leave these modules out with --modules",
        status.address,
        spanning.join(", ")
    )))
}

/// Beyond loopback somebody must be able to prove who they are, and nobody else may get in.
async fn check_exposure(
    settings: &Settings,
    listener: &TcpListener,
    store: &dyn Store,
) -> Result<(), Failure> {
    let address = listener.local_addr().map_err(|error| Failure::failed(plain(&error)))?;
    if address.ip().to_canonical().is_loopback() || settings.server.admin_token.as_deref().is_some()
    {
        return Ok(());
    }
    if server::tokens::any(store).await? {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "refusing to listen on {address} without any token, everybody could get in; make one first \
         (`worldkeep token new --name me --role admin` with the same --data or --redis), \
         set WORLDKEEP_ADMIN_TOKEN, or listen on 127.0.0.1"
    )))
}

/// Prints the store's facts, its warnings, and the addresses to use.
fn announce(
    listener: Option<&Bound>,
    resp: Option<&str>,
    guests: Option<&Guests>,
    (status, warnings): (&Status, &[String]),
    demo: bool,
) {
    let kind = match status.kind {
        Kind::Embedded => "embedded engine",
        Kind::Standalone => "standalone",
        Kind::Sentinel => "found by Sentinel",
        Kind::Cluster => "Cluster",
    };
    print::line(format!(
        "Store      {kind}, {} at {}; persistence: {}; eviction: {}",
        status.server,
        status.address,
        status.persistence.sentence(),
        status.eviction
    ));
    for warning in warnings {
        print::line(format!("Warning    {warning}"));
    }
    if let Some(resp) = resp {
        print::line(format!("RESP       {resp}"));
    }
    if let Some(listener) = listener {
        let own = dashboard(listener);
        print::line(format!("Dashboard  {own}/"));
        print::line(format!("API        {own}/api  (described at {own}/docs/)"));
        for line in guests.iter().flat_map(|guests| guests.lines(&own)) {
            print::line(line);
        }
    }
    if demo {
        print::line(
            "Demo       a small live world to look at; the dashboard shows you around, --no-demo leaves it out",
        );
    }
    print::line("Stop       Ctrl-C, or SIGTERM; a second one stops at once");
}

/// The address to open on this machine.
fn dashboard(listener: &Bound) -> String {
    let address =
        listener.tcp.local_addr().unwrap_or_else(|_| SocketAddr::from(([127, 0, 0, 1], 0)));
    let shown = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => SocketAddr::from(([127, 0, 0, 1], address.port())),
        IpAddr::V6(ip) if ip.is_unspecified() => {
            SocketAddr::from((std::net::Ipv6Addr::LOCALHOST, address.port()))
        }
        _ => address,
    };
    let scheme = if listener.tls.is_some() { "https" } else { "http" };
    format!("{scheme}://{shown}")
}

/// Tells systemd, when it asked to be told (`Type=notify`): one datagram to the socket it names.
fn notify(state: &str) {
    let Some(name) = std::env::var_os("NOTIFY_SOCKET") else { return };
    let sent = std::os::unix::net::UnixDatagram::unbound()
        .and_then(|socket| socket.send_to(state.as_bytes(), &name));
    if let Err(error) = sent {
        tracing::debug!(%error, "telling systemd");
    }
}

/// Stops in good order at the first signal, at once at the second. A thread that does nothing else
/// hears the signals, so a stop is heard however busy the others are.
fn signals(stop: CancellationToken) -> Result<(), Failure> {
    let cannot = |error| Failure::failed(format!("cannot listen for signals: {}", plain(&error)));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(cannot)?;
    let kinds = [SignalKind::terminate(), SignalKind::interrupt()];
    let [mut term, mut int] = {
        let _here = runtime.enter();
        let [term, int] = kinds.map(signal);
        [term.map_err(cannot)?, int.map_err(cannot)?]
    };
    let mut next = move || {
        runtime.block_on(async {
            tokio::select! {
                _ = term.recv() => {}
                _ = int.recv() => {}
            }
        });
    };
    let hear = move || {
        next();
        tracing::info!("stopping");
        notify("STOPPING=1");
        stop.cancel();
        next();
        tracing::warn!("second signal, stopping at once");
        std::process::exit(130);
    };
    std::thread::Builder::new().name("signals".into()).spawn(hear).map(drop).map_err(cannot)
}
