//! A Cluster of real servers on loopback: three primaries, three replicas, one per test process and lent to
//! one test at a time. Nodes can be killed, restarted and failed over; `wait_ok` tells when it is whole.

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use crate::server::{Program, Server, Setup, free_port};
use crate::wait::wait_until;

const NODE_TIMEOUT_MS: &str = "1000"; // long enough for a busy machine, short enough for a test

/// Six nodes; the first three began as primaries.
pub struct Cluster {
    nodes: Mutex<Vec<Server>>,
}

/// The Cluster, lent to one test.
pub struct LentCluster {
    guard: MutexGuard<'static, Option<Arc<Cluster>>>,
}

static SHARED: Mutex<Option<Arc<Cluster>>> = Mutex::new(None);

impl LentCluster {
    /// `redis+cluster://` with all its nodes.
    pub fn url(&self) -> String {
        self.cluster().url()
    }

    /// The Cluster itself.
    pub fn cluster(&self) -> Arc<Cluster> {
        Arc::clone(self.guard.as_ref().expect("it is there while it is lent"))
    }
}

impl Drop for LentCluster {
    fn drop(&mut self) {
        // A failed test may leave it in pieces: the next one gets a new Cluster.
        if std::thread::panicking() {
            *self.guard = None;
        }
    }
}

impl Cluster {
    /// The Cluster of this test process, whole and empty, for one test at a time.
    pub fn lend() -> LentCluster {
        let mut guard = SHARED.lock();
        let cluster = guard.get_or_insert_with(|| Arc::new(Cluster::start(Program::Redis)));
        cluster.restart_missing();
        cluster.wait_ok();
        cluster.flush();
        LentCluster { guard }
    }

    /// A Cluster of one's own.
    pub fn start(program: Program) -> Self {
        let nodes: Vec<Server> = (0..6).map(|_| start_node(program)).collect();
        let ids: Vec<String> =
            nodes.iter().map(|node| bulk(&node.ask(&["CLUSTER", "MYID"]))).collect();
        for (at, node) in nodes.iter().enumerate() {
            node.ask(&["CLUSTER", "SET-CONFIG-EPOCH", &(at + 1).to_string()]);
            let first = &nodes[0];
            let bus = first.bus_port().to_string();
            node.ask(&["CLUSTER", "MEET", "127.0.0.1", &first.port().to_string(), &bus]);
        }
        for (at, (from, to)) in
            [(0, 5460), (5461, 10_922), (10_923, 16_383)].into_iter().enumerate()
        {
            let (from, to) = (i32::to_string(&from), i32::to_string(&to));
            assert_eq!(nodes[at].ask(&["CLUSTER", "ADDSLOTSRANGE", &from, &to]), "+OK\r\n");
        }
        for (at, node) in nodes.iter().enumerate().skip(3) {
            // Known only after the nodes have met.
            wait_until("a replica finds its primary", || {
                node.ask(&["CLUSTER", "REPLICATE", &ids[at - 3]]).starts_with("+OK")
            });
        }
        let cluster = Cluster { nodes: Mutex::new(nodes) };
        cluster.wait_ok();
        cluster
    }

    /// `redis+cluster://` with all its nodes.
    pub fn url(&self) -> String {
        let nodes = self.nodes.lock();
        let all: Vec<String> = nodes.iter().map(|node| node.addr().to_string()).collect();
        format!("redis+cluster://{}", all.join(","))
    }

    /// Ports of all nodes, in order.
    pub fn ports(&self) -> Vec<u16> {
        self.nodes.lock().iter().map(Server::port).collect()
    }

    /// The node that serves this key now.
    pub fn primary_of(&self, key: &str) -> usize {
        let found = self.nodes.lock().iter().position(|node| {
            let reply = node.is_running().then(|| node.ask(&["EXISTS", key]));
            reply.is_some_and(|reply| reply.starts_with(':'))
        });
        found.expect("a whole Cluster serves every key")
    }

    /// A running replica of this primary.
    pub fn replica_of(&self, primary: usize) -> usize {
        let nodes = self.nodes.lock();
        let port = nodes[primary].port().to_string();
        let found = nodes.iter().position(|node| {
            node.is_running() && {
                let info = node.ask(&["INFO", "replication"]);
                info.contains("role:slave") && info.contains(&format!("master_port:{port}\r"))
            }
        });
        found.expect("a whole Cluster has a replica for every primary")
    }

    /// kill -9 of one node.
    pub fn kill(&self, node: usize) {
        self.nodes.lock()[node].kill();
    }

    /// Starts it again with what it knew.
    pub fn restart(&self, node: usize) {
        self.nodes.lock()[node].restart();
    }

    /// Makes a replica the primary, in agreement with the old one.
    pub fn fail_over_to(&self, replica: usize) {
        let nodes = self.nodes.lock();
        assert_eq!(nodes[replica].ask(&["CLUSTER", "FAILOVER"]), "+OK\r\n");
        wait_until("the replica becomes primary", || {
            nodes[replica].ask(&["INFO", "replication"]).contains("role:master")
        });
    }

    /// A primary other than this one.
    fn other_primary(&self, than: usize) -> usize {
        let found = (0..self.ports().len()).find(|at| {
            *at != than && self.ask(*at, &["INFO", "replication"]).contains("role:master")
        });
        found.expect("a whole Cluster has three primaries")
    }

    /// The id that a node has among the others.
    pub fn id(&self, node: usize) -> String {
        bulk(&self.ask(node, &["CLUSTER", "MYID"]))
    }

    /// The slot of this key goes to another primary, all its keys at once.
    pub fn move_slot_of(&self, key: &str) {
        self.move_slot_in_parts(key, 1_000, || {});
    }

    /// The same, so many keys at a time; `between` runs after each part, when some keys are here and some there.
    pub fn move_slot_in_parts(&self, key: &str, part: usize, mut between: impl FnMut()) {
        let from = self.primary_of(key);
        let to = self.other_primary(from);
        let reply = self.ask(from, &["CLUSTER", "KEYSLOT", key]);
        let slot = reply.trim_start_matches(':').trim_end();
        self.ask(to, &["CLUSTER", "SETSLOT", slot, "IMPORTING", &self.id(from)]);
        self.ask(from, &["CLUSTER", "SETSLOT", slot, "MIGRATING", &self.id(to)]);
        let (port, part) = (self.ports()[to].to_string(), part.to_string());
        loop {
            let held = self.ask(from, &["CLUSTER", "GETKEYSINSLOT", slot, &part]);
            let keys: Vec<&str> = held.split("\r\n").skip(2).step_by(2).collect();
            if keys.is_empty() {
                break;
            }
            let mut migrate = vec!["MIGRATE", "127.0.0.1", &port, "", "0", "5000", "KEYS"];
            migrate.extend(keys);
            // One that expired meanwhile is not there to be moved.
            let moved = self.ask(from, &migrate);
            assert!(moved == "+OK\r\n" || moved == "+NOKEY\r\n", "{moved}");
            between();
        }
        for node in [to, from] {
            self.ask(node, &["CLUSTER", "SETSLOT", slot, "NODE", &self.id(to)]);
        }
    }

    /// One command of plain words to one node.
    pub fn ask(&self, node: usize, words: &[&str]) -> String {
        self.nodes.lock()[node].ask(words)
    }

    /// Waits until every running node says ok and every running replica follows its primary.
    pub fn wait_ok(&self) {
        let nodes = self.nodes.lock();
        wait_until("the Cluster is whole", || {
            nodes.iter().filter(|node| node.is_running()).all(|node| {
                let state = node.ask(&["CLUSTER", "INFO"]);
                let role = node.ask(&["INFO", "replication"]);
                state.contains("cluster_state:ok")
                    && state.contains("cluster_known_nodes:6")
                    && state.contains("cluster_slots_ok:16384")
                    && (role.contains("role:master") || role.contains("master_link_status:up"))
            })
        });
    }

    fn restart_missing(&self) {
        for node in self.nodes.lock().iter_mut().filter(|node| !node.is_running()) {
            node.restart();
        }
    }

    fn flush(&self) {
        for node in self.nodes.lock().iter() {
            if node.ask(&["INFO", "replication"]).contains("role:master") {
                node.ask(&["FLUSHALL"]);
                node.ask(&["SCRIPT", "FLUSH"]);
            }
        }
    }
}

fn start_node(program: Program) -> Server {
    Setup::new(program)
        .args(["--cluster-enabled", "yes", "--cluster-node-timeout", NODE_TIMEOUT_MS])
        .args(["--cluster-replica-validity-factor", "0", "--repl-diskless-sync-delay", "0"])
        .args(["--cluster-allow-replica-migration", "no", "--repl-ping-replica-period", "1"])
        // Replicas started anew load what they had, so a restarted node is itself again.
        .args(["--appendonly", "yes", "--appendfsync", "no"])
        .bus(free_port())
        .start()
}

fn bulk(reply: &str) -> String {
    reply.split("\r\n").nth(1).unwrap_or_default().to_owned()
}
