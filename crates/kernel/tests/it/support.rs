//! A plain Redis of the test's own, and the smallest `Store` over it.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::BoxStream;
use kernel::{
    Answer, Cmd, Deadline, Fault, Kind, Message, Script, Session, Status, Store, Topic, Value,
};
use redis::aio::{ConnectionLike as _, MultiplexedConnection};
use redis::{AsyncConnectionConfig, Client, RedisError};
use testkit::{Program, Server};

/// A store and the server behind it, which ends with it.
pub(crate) struct Plain {
    client: Client,
    shared: MultiplexedConnection,
    _server: Server,
}

pub(crate) async fn store() -> Arc<dyn Store> {
    let server = Server::start(Program::Redis);
    let client = Client::open(server.url()).unwrap();
    let shared = connect(&client).await.unwrap();
    Arc::new(Plain { client, shared, _server: server })
}

/// Long enough for any test, short enough to end a hanging one.
pub(crate) fn soon() -> Deadline {
    Deadline::after(Duration::from_secs(10))
}

/// One command of plain words.
pub(crate) async fn ask(store: &dyn Store, words: &[&str]) -> Value {
    let mut cmd = Cmd::new();
    for word in words {
        cmd.arg(*word);
    }
    store.call(&cmd, soon()).await.unwrap()
}

/// The same, as text; nil is empty.
pub(crate) async fn text(store: &dyn Store, words: &[&str]) -> String {
    kernel::reply::text(&ask(store, words).await).unwrap_or_default().to_owned()
}

/// The same, as a number.
pub(crate) async fn int(store: &dyn Store, words: &[&str]) -> i64 {
    kernel::reply::int(&ask(store, words).await).unwrap()
}

async fn connect(client: &Client) -> Result<MultiplexedConnection, RedisError> {
    let config = AsyncConnectionConfig::new().set_response_timeout(None);
    client.get_multiplexed_async_connection_with_config(&config).await
}

fn fault(error: &RedisError) -> Fault {
    match error.code() {
        Some(code) => Fault::Refused {
            code: code.to_owned(),
            detail: error.detail().unwrap_or_default().to_owned(),
        },
        None => Fault::Unknown(error.to_string()),
    }
}

async fn send(mut to: MultiplexedConnection, cmd: &Cmd, by: Deadline) -> Result<Value, Fault> {
    match tokio::time::timeout(by.left(), to.req_packed_command(cmd)).await {
        Ok(Ok(Value::ServerError(error))) => Err(fault(&error.into())),
        Ok(result) => result.map_err(|error| fault(&error)),
        Err(_) => Err(Fault::Unknown("deadline".to_owned())),
    }
}

impl Store for Plain {
    fn call<'a>(&'a self, cmd: &'a Cmd, by: Deadline) -> Answer<'a, Value> {
        Answer::Later(Box::pin(send(self.shared.clone(), cmd, by)))
    }

    fn pipeline<'a>(
        &'a self,
        cmds: &'a [Cmd],
        by: Deadline,
    ) -> Answer<'a, Vec<Result<Value, Fault>>> {
        Answer::Later(Box::pin(async move {
            let mut results = Vec::new();
            for cmd in cmds {
                results.push(send(self.shared.clone(), cmd, by).await);
            }
            Ok(results)
        }))
    }

    fn script<'a>(
        &'a self,
        script: &'static Script,
        keys: &'a [&'a [u8]],
        args: &'a [&'a [u8]],
        by: Deadline,
    ) -> Answer<'a, Value> {
        Answer::Later(Box::pin(async move {
            let eval = |name: &str, text: &str| {
                let mut cmd = redis::cmd(name);
                cmd.arg(text).arg(keys.len()).arg(keys).arg(args);
                cmd
            };
            let first = send(self.shared.clone(), &eval("EVALSHA", script.sha()), by).await;
            match first {
                Err(Fault::Refused { code, .. }) if code == "NOSCRIPT" => {
                    send(self.shared.clone(), &eval("EVAL", script.source()), by).await
                }
                other => other,
            }
        }))
    }

    fn session<'a>(&'a self, _key: &'a [u8], _by: Deadline) -> Answer<'a, Box<dyn Session>> {
        Answer::Later(Box::pin(async move {
            let own = connect(&self.client).await.map_err(|error| fault(&error))?;
            Ok(Box::new(Own(own)) as Box<dyn Session>)
        }))
    }

    fn subscribe<'a>(
        &'a self,
        _topics: &'a [Topic],
        _by: Deadline,
    ) -> Answer<'a, BoxStream<'static, Message>> {
        unimplemented!("the kernel's tests do not subscribe")
    }

    fn status(&self) -> Status {
        Status {
            kind: Kind::Standalone,
            place: String::new(),
            server: String::new(),
            up: true,
            since_ms: 0,
            reason: None,
            reconnects: 0,
            persistence: String::new(),
            eviction: String::new(),
            warnings: Vec::new(),
        }
    }
}

struct Own(MultiplexedConnection);

impl Session for Own {
    fn call<'a>(&'a mut self, cmd: &'a Cmd, by: Deadline) -> Answer<'a, Value> {
        Answer::Later(Box::pin(send(self.0.clone(), cmd, by)))
    }

    fn exec<'a>(&'a mut self, cmds: &'a [Cmd], by: Deadline) -> Answer<'a, Option<Vec<Value>>> {
        Answer::Later(Box::pin(async move {
            send(self.0.clone(), &redis::cmd("MULTI"), by).await?;
            for cmd in cmds {
                send(self.0.clone(), cmd, by).await?;
            }
            match send(self.0.clone(), &redis::cmd("EXEC"), by).await? {
                Value::Array(answers) => Ok(Some(answers)),
                _ => Ok(None),
            }
        }))
    }
}
