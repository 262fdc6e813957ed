//! A primary, a replica and three Sentinels that watch them, all real servers on loopback.

use crate::server::{Program, Server, Setup};
use crate::wait::wait_until;

/// The name the Sentinels have for their primary.
pub(crate) const PRIMARY: &str = "mymaster";

/// Two data servers and their Sentinels.
pub struct Sentinel {
    /// The data servers; the first began as the primary.
    pub data: Vec<Server>,
    sentinels: Vec<Server>,
}

impl Sentinel {
    /// Starts all five and waits until every Sentinel knows the replica and the other two.
    pub fn start(program: Program) -> Self {
        let primary = Server::start(program);
        let port = primary.port().to_string();
        let replica = Setup::new(program)
            .args(["--replicaof", "127.0.0.1", &port])
            .args(["--repl-diskless-sync-delay", "0"])
            .start();
        let config = format!(
            "sentinel monitor {PRIMARY} 127.0.0.1 {port} 2\n\
             sentinel down-after-milliseconds {PRIMARY} 500\n\
             sentinel failover-timeout {PRIMARY} 3000\n"
        );
        let sentinels: Vec<Server> =
            (0..3).map(|_| Setup::new(program).sentinel(config.clone()).start()).collect();
        let all = Sentinel { data: vec![primary, replica], sentinels };
        let ready = format!("address=127.0.0.1:{port},slaves=1,sentinels=3");
        all.until("every Sentinel knows the others", |sentinel| {
            sentinel.ask(&["INFO", "sentinel"]).contains(&ready)
        });
        all
    }

    /// `redis+sentinel://` with all Sentinels.
    pub fn url(&self) -> String {
        let all: Vec<String> = self.sentinels.iter().map(|one| one.addr().to_string()).collect();
        format!("redis+sentinel://{}/{PRIMARY}", all.join(","))
    }

    /// Waits until every Sentinel names this data server as the primary.
    pub fn wait_primary(&self, data: usize) {
        let address = format!("address=127.0.0.1:{},", self.data[data].port());
        self.until("every Sentinel names the new primary", |sentinel| {
            sentinel.ask(&["INFO", "sentinel"]).contains(&address)
        });
    }

    /// Asks for a change of primary although the old one is well.
    pub fn fail_over(&self) {
        let reply = self.sentinels[0].ask(&["SENTINEL", "FAILOVER", PRIMARY]);
        assert_eq!(reply, "+OK\r\n");
    }

    fn until(&self, what: &str, done: impl Fn(&Server) -> bool) {
        wait_until(what, || self.sentinels.iter().all(&done));
    }
}
