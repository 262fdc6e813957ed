//! Behind Sentinel: the primary is found, and when another one takes over, calls follow it.

use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use kernel::{Fault, Kind, Message, Script, Topic, Value};
use testkit::{Sentinel, Server, open, programs, timed};

use crate::{cmd, ms, soon};

static COUNT: Script = Script::new("count", "return redis.call('INCR', KEYS[1])");

#[tokio::test(flavor = "multi_thread")]
async fn calls_follow_the_new_primary_after_a_kill() {
    for program in programs() {
        let mut fixture = tokio::task::block_in_place(|| Sentinel::start(program));
        let store = open(&fixture.url()).await;
        assert_eq!(store.status().kind, Kind::Sentinel);
        let topics = [Topic::Channel("news".to_owned())];
        let mut stream = store.subscribe(&topics, soon()).await.expect("subscribed");
        assert_eq!(store.script(&COUNT, &[b"n"], &[], soon()).await, Ok(Value::Int(1)));
        store.call(&cmd("WAIT 1 5000"), ms(6000)).await.expect("the replica has it");
        tokio::task::block_in_place(|| {
            fixture.data[0].kill();
            fixture.wait_primary(1);
        });
        let began = Instant::now();
        assert_eq!(store.script(&COUNT, &[b"n"], &[], soon()).await, Ok(Value::Int(2)));
        let what = format!("{program:?}: healed after the Sentinels agreed");
        timed(&what, began.elapsed(), Duration::from_secs(2));
        assert_eq!(stream.next().await, Some(Message::Resumed));
        // The old primary comes back as a replica: nobody is sent to it.
        tokio::task::block_in_place(|| fixture.data[0].restart());
        assert_eq!(store.script(&COUNT, &[b"n"], &[], soon()).await, Ok(Value::Int(3)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agreed_change_of_primary_is_followed() {
    for program in programs() {
        let fixture = tokio::task::block_in_place(|| Sentinel::start(program));
        let store = open(&fixture.url()).await;
        store.call(&cmd("SET a 1"), soon()).await.expect("written");
        tokio::task::block_in_place(|| {
            fixture.fail_over();
            fixture.wait_primary(1);
        });
        let give_up = Instant::now() + Duration::from_secs(20);
        // The old primary may still take writes for a moment; in the end they reach the new one.
        while fixture.data[1].ask(&["EXISTS", "moved"]) != ":1\r\n" {
            assert!(Instant::now() < give_up, "writes never reached the new primary");
            match store.call(&cmd("SET moved 1"), ms(3000)).await {
                Ok(_) | Err(Fault::Unknown(_) | Fault::Unavailable(_)) => {}
                Err(other) => panic!("{other}"),
            }
        }
        let mut session = store.session(b"k", soon()).await.expect("a session");
        assert_eq!(session.call(&cmd("SET k 1"), soon()).await, Ok(Value::Okay));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_name_or_a_plain_server_is_told() {
    for program in programs() {
        let fixture = tokio::task::block_in_place(|| Sentinel::start(program));
        let url = fixture.url().replace("mymaster", "other");
        let Err(error) = link::open(&url, link::Options::default()).await else { panic!("opened") };
        assert!(error.to_string().contains("it knows no primary named other"), "{error}");
        let plain = Server::start(program);
        let url = format!("redis+sentinel://{}/mymaster", plain.addr());
        let Err(error) = link::open(&url, link::Options::default()).await else { panic!("opened") };
        assert!(error.to_string().contains("it is no Sentinel; check the port"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deposed_primary_that_does_not_know_it_is_left() {
    for program in programs() {
        let fixture = tokio::task::block_in_place(|| Sentinel::start(program));
        let store = open(&fixture.url()).await;
        store.call(&cmd("SET a 1"), soon()).await.expect("written");
        // Frozen: the Sentinels elect another, and the old one wakes up as if nothing had happened.
        tokio::task::block_in_place(|| {
            fixture.data[0].freeze();
            fixture.wait_primary(1);
            fixture.data[0].thaw();
        });
        let give_up = Instant::now() + Duration::from_secs(10);
        while fixture.data[1].ask(&["EXISTS", "after"]) != ":1\r\n" {
            assert!(Instant::now() < give_up, "writes never reached the new primary");
            let _ = store.call(&cmd("SET after 1"), ms(1000)).await;
        }
    }
}
