//! The keys of one namespace, spelled once when the queue is opened. The fixed ones are whole; those with an id
//! at the end are prefixes, because ids of foreign producers are taken as they are.

use kernel::keyspace::{BadId, Key, Layout, slot};

use crate::keys::Keys;

macro_rules! space {
    (fixed: $($fixed:ident),+; by id: $($prefix:ident($example:literal)),+ $(,)?) => {
        /// Keys and prefixes of a namespace.
        #[derive(Debug, Clone)]
        pub(crate) struct Space {
            pub(crate) ns: String,
            $(pub(crate) $fixed: Key,)+
            $($prefix: String,)+
        }

        impl Space {
            pub(crate) fn new(ns: &str, layout: Layout) -> Result<Space, BadId> {
                let keys = Keys::new(layout);
                Ok(Space {
                    ns: ns.to_owned(),
                    $($fixed: keys.$fixed(ns)?,)+
                    $($prefix: prefix(&keys.$prefix(ns, $example)?, $example),)+
                })
            }

            /// The fixed keys with the names of their definitions, to find one that holds the wrong type.
            pub(crate) fn fixed(&self) -> Vec<(&'static str, &Key)> {
                vec![$((stringify!($fixed), &self.$fixed)),+]
            }

            $(pub(crate) fn $prefix(&self, id: &str) -> String {
                [self.$prefix.as_str(), id].concat()
            })+
        }
    };
}

space! {
    fixed: waiting, active, delayed, cron, deadletter, paused, workers_active, scheduler_lock, scheduler_leader,
        events, recoveries, claimed, wake, cancel, control, asked, progressed, cancelled, parked,
        paused_until, limits, groups, group_limits, cron_failed, index, metrics_processed,
        metrics_failed, metrics_time;
    by id: data("i"), status("i"), result("i"), lock("i"), progress("i"), concurrent("i"), minute("i"),
        rate("i"), group("i"), group_runs("i"), group_rate("i"), worker("i"), heartbeat("i"), deps("i"), flow("i"), batch("i"),
        stats("20000101"),
}

fn prefix(key: &Key, example: &str) -> String {
    key.as_str().strip_suffix(example).expect("the id is last in its key").to_owned()
}

impl Space {
    /// Whether all keys share a slot of a Cluster.
    pub(crate) fn is_in_one_slot(&self) -> bool {
        let waiting = self.waiting.slot();
        [self.active.slot(), slot(self.data("a").as_bytes()), slot(self.lock("b").as_bytes())]
            .into_iter()
            .all(|other| other == waiting)
    }
}
