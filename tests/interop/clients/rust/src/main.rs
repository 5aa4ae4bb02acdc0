//! Follows resources with kube-rs, as a user's program does, and reports what it is told, in the form of the package
//! report of the Go clients. A line on stdin asks for what the caches hold; its end ends the program.
//!
//!     kube-follow list|stream RESOURCE...

use std::{collections::HashMap, io::BufRead, sync::{Arc, Mutex}};

use futures::StreamExt;
use kube::{Api, Client, ResourceExt, api::DynamicObject, core::{ApiResource, GroupVersionKind}};
use kube::runtime::{WatchStreamExt, reflector, watcher};
use serde_json::{Value, json};

fn resource(name: &str) -> ApiResource {
    let (group, version, kind) = match name {
        "pods" => ("", "v1", "Pod"),
        "configmaps" => ("", "v1", "ConfigMap"),
        "leases.coordination.k8s.io" => ("coordination.k8s.io", "v1", "Lease"),
        "crontabs.stable.example.com" => ("stable.example.com", "v1", "CronTab"),
        _ => panic!("unknown resource {name}"),
    };
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
}

fn key(o: &DynamicObject) -> String {
    o.namespace().map_or_else(|| o.name_any(), |n| format!("{n}/{}", o.name_any()))
}

fn identity(o: &DynamicObject) -> Value {
    json!({"key": key(o), "uid": o.uid(), "rv": o.resource_version()})
}

/// What one resource told. A watcher is not given what an update replaces, nor what a relist finds gone.
struct Report {
    resource: String,
    known: HashMap<String, Value>,
    listed: Option<HashMap<String, Value>>,
    synced: bool,
}

impl Report {
    fn line(&self, kind: &str, more: Value) {
        let mut line = json!({"kind": kind, "resource": self.resource});
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        println!("{line}");
    }

    fn applied(&mut self, key: String, object: Value) {
        match self.known.insert(key, object.clone()) {
            Some(old) if old == object => (),
            Some(old) => self.line("update", json!({"object": object, "old": old})),
            None => self.line("add", json!({"object": object, "initial": !self.synced})),
        }
    }

    fn relisted(&mut self) {
        let listed = self.listed.take().unwrap_or_default();
        let gone: Vec<_> = self.known.keys().filter(|k| !listed.contains_key(*k)).cloned().collect();
        for key in gone {
            let object = self.known.remove(&key).unwrap();
            self.line("delete", json!({"object": object, "unknown": true}));
        }
        for (key, object) in listed {
            self.applied(key, object);
        }
        if !self.synced {
            self.synced = true;
            self.line("synced", json!({}));
        }
    }

    fn told(&mut self, event: watcher::Event<DynamicObject>) {
        match event {
            watcher::Event::Init => self.listed = Some(HashMap::new()),
            watcher::Event::InitApply(o) => {
                self.listed.get_or_insert_default().insert(key(&o), identity(&o));
            }
            watcher::Event::InitDone => self.relisted(),
            watcher::Event::Apply(o) => self.applied(key(&o), identity(&o)),
            watcher::Event::Delete(o) => {
                self.known.remove(&key(&o));
                self.line("delete", json!({"object": identity(&o)}));
            }
        }
    }
}

type Caches = Vec<(String, reflector::Store<DynamicObject>)>;

/// Begins to follow one resource; returns its cache.
fn follow(client: Client, name: &str, config: watcher::Config) -> reflector::Store<DynamicObject> {
    let kind = resource(name);
    let api: Api<DynamicObject> = Api::all_with(client, &kind);
    let writer = reflector::store::Writer::new(kind);
    let store = writer.as_reader();
    let report = Arc::new(Mutex::new(Report {
        resource: name.to_string(), known: HashMap::new(), listed: None, synced: false }));
    let name = name.to_string();
    tokio::spawn(async move {
        let stream = reflector(writer, watcher(api, config)).default_backoff();
        futures::pin_mut!(stream);
        while let Some(item) = stream.next().await {
            match item {
                Ok(event) => report.lock().unwrap().told(event),
                Err(err) => eprintln!("{name}: {err}"),
            }
        }
        eprintln!("{name}: the watcher ended");
    });
    store
}

fn tell_caches(caches: &Caches) {
    for (name, store) in caches {
        for o in store.state() {
            println!("{}", json!({"kind": "cache", "resource": name, "object": identity(&o)}));
        }
    }
    println!("{}", json!({"kind": "cached"}));
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let config = match words.next().as_deref() {
        Some("list") => watcher::Config::default(),
        Some("stream") => watcher::Config::default().streaming_lists(),
        _ => panic!("expected list or stream"),
    };
    let client = Client::try_default().await?;
    let caches: Caches = words.map(|name| (name.clone(), follow(client.clone(), &name, config.clone()))).collect();
    tokio::task::spawn_blocking(move || {
        for _ in std::io::stdin().lock().lines() {
            tell_caches(&caches);
        }
        std::process::exit(0)
    }).await?;
    Ok(())
}
