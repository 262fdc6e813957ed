//! What the kernel adds to a call of the raw `redis` crate, on a connection that answers at once, so that no
//! network hides it: `cargo bench -p worldkeep-kernel`. The bar is 1 µs per call; the program fails above it.

#![allow(clippy::print_stdout)] // a bench prints

use std::future::Future;
use std::hint::black_box;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use futures_util::stream::BoxStream;
use redis::aio::ConnectionLike;
use redis::{Pipeline, RedisFuture};
use worldkeep_kernel::{
    Answer, Cmd, Deadline, Effects as _, Fault, Kind, Message, Script, Session, Status, Step,
    Store, Topic, Value,
};

const BAR: Duration = Duration::from_micros(1);
const ROUNDS: usize = 15;
const CALLS: u32 = 20_000;

/// Answers every command at once with the same word. Packs it first, as a real connection does.
#[derive(Clone)]
struct AtOnce;

fn answer(cmd: &Cmd) -> Value {
    black_box(cmd.get_packed_command());
    Value::SimpleString("done".to_owned())
}

impl ConnectionLike for AtOnce {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        Box::pin(async move { Ok(answer(cmd)) })
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        _offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        black_box(pipeline.get_packed_pipeline());
        Box::pin(async move { Ok(vec![Value::Okay; count]) })
    }

    fn get_db(&self) -> i64 {
        0
    }
}

/// The smallest honest store over it: a boxed future and a deadline, as on a network.
struct Direct(AtOnce);

impl Direct {
    fn send<'a>(&'a self, cmd: &'a Cmd, by: Deadline) -> Answer<'a, Value> {
        let mut connection = self.0.clone();
        Answer::Later(Box::pin(async move {
            if by.left().is_zero() {
                return Err(Fault::Unavailable("the deadline has passed".to_owned()));
            }
            connection
                .req_packed_command(cmd)
                .await
                .map_err(|error| Fault::Unknown(error.to_string()))
        }))
    }
}

impl Store for Direct {
    fn call<'a>(&'a self, cmd: &'a Cmd, by: Deadline) -> Answer<'a, Value> {
        self.send(cmd, by)
    }

    fn pipeline<'a>(
        &'a self,
        cmds: &'a [Cmd],
        _by: Deadline,
    ) -> Answer<'a, Vec<Result<Value, Fault>>> {
        Answer::ready(Ok(cmds.iter().map(|cmd| Ok(answer(cmd))).collect()))
    }

    fn script<'a>(
        &'a self,
        script: &'static Script,
        keys: &'a [&'a [u8]],
        args: &'a [&'a [u8]],
        _by: Deadline,
    ) -> Answer<'a, Value> {
        let mut cmd = redis::cmd("EVALSHA");
        cmd.arg(script.sha()).arg(keys.len()).arg(keys).arg(args);
        let mut connection = self.0.clone();
        Answer::Later(Box::pin(async move {
            connection
                .req_packed_command(&cmd)
                .await
                .map_err(|error| Fault::Unknown(error.to_string()))
        }))
    }

    fn session<'a>(&'a self, _key: &'a [u8], _by: Deadline) -> Answer<'a, Box<dyn Session>> {
        Answer::ready(Err(Fault::Unavailable("not measured".to_owned())))
    }

    fn subscribe<'a>(
        &'a self,
        _topics: &'a [Topic],
        _by: Deadline,
    ) -> Answer<'a, BoxStream<'static, Message>> {
        Answer::ready(Err(Fault::Unavailable("not measured".to_owned())))
    }

    fn status(&self) -> Status {
        Status {
            kind: Kind::Standalone,
            address: String::new(),
            server: String::new(),
            up: true,
            since_ms: 0,
            reason: None,
            refuses_writes: None,
            reconnects: 0,
            persistence: worldkeep_kernel::store_words::KEPT_NOT.say(),
            eviction: String::new(),
            warnings: Vec::new(),
        }
    }
}

/// The connection answers at once, so one poll is enough and no runtime is measured.
fn ready<F: Future>(future: F) -> F::Output {
    let mut future = std::pin::pin!(future);
    match Pin::as_mut(&mut future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("the connection answers at once"),
    }
}

/// Nanoseconds per call: the best of several rounds, which take turns. Other work on the machine only adds.
fn measure(mut raw: impl FnMut(), mut ours: impl FnMut()) -> (f64, f64) {
    let round = |work: &mut dyn FnMut()| {
        let start = Instant::now();
        for _ in 0..CALLS {
            work();
        }
        start.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS)
    };
    let (mut left, mut right) = (f64::MAX, f64::MAX);
    for _ in 0..ROUNDS {
        left = left.min(round(&mut raw));
        right = right.min(round(&mut ours));
    }
    (left, right)
}

fn report(what: &str, (raw, ours): (f64, f64)) -> bool {
    let added = ours - raw;
    println!(
        "{what:<28} raw {raw:7.0} ns   kernel {ours:7.0} ns   added {added:6.0} ns   ratio {:.2}",
        ours / raw
    );
    added <= BAR.as_secs_f64() * 1e9
}

fn main() {
    let store: Box<dyn Store> = Box::new(Direct(AtOnce));
    let by = Deadline::after(Duration::from_hours(1));
    let get = || {
        let mut cmd = redis::cmd("GET");
        cmd.arg("reactor:1000000001");
        cmd
    };
    let call = measure(
        || {
            let mut connection = AtOnce;
            black_box(ready(connection.req_packed_command(&get())).expect("it answers"));
        },
        || {
            black_box(ready(store.call(&get(), by)).expect("it answers"));
        },
    );

    let (old, new) = ("x".repeat(288), "y".repeat(288));
    let sha = "0123456789012345678901234567890123456789";
    let step = measure(
        || {
            let mut cmd = redis::cmd("EVALSHA");
            cmd.arg(sha).arg(2).arg("reactor:1").arg("reactors:map:1").arg(1).arg("text").arg(1);
            cmd.arg(&old).arg(2).arg("SET").arg(1).arg(&new).arg("KEEPTTL");
            cmd.arg(1).arg("SADD").arg(2).arg("1");
            let mut connection = AtOnce;
            black_box(ready(connection.req_packed_command(&cmd)).expect("it answers"));
        },
        || {
            let step = Step::new("reactor:1").expect(&old).write(&new).sadd("reactors:map:1", "1");
            black_box(ready(store.step(&step, by)).expect("it answers"));
        },
    );

    let good = [report("one GET", call), report("one step, two writes", step)];
    if good.contains(&false) {
        println!("above the bar of {BAR:?} per call");
        std::process::exit(1);
    }
}
