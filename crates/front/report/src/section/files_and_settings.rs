//! The end of the page: files, settings, notes, how to check.

use std::fmt::Write;

use crate::description::Report;
use crate::number;
use crate::{escape, section};

pub(crate) fn html(report: &Report) -> String {
    let names = if report.outcome.is_pruning() { ["Original", "Pruned"] } else { ["First", "Second"] };
    let mut html = "<dl class=\"files\">\n".to_owned();
    for (model, name) in report.models.iter().zip(names) {
        let digests = model
            .digests
            .iter()
            .map(|(name, digest)| format!("<code>{}: {}</code>", escape::text(name), escape::text(digest)));
        let _ = writeln!(
            html,
            "<div><dt>{name}</dt><dd><span>{}</span> <span>{}</span> {}</dd></div>",
            escape::sentence(&model.file),
            escape::text(&model.framework),
            digests.collect::<String>()
        );
    }
    if let Some(certificate) = &report.certificate {
        let _ = writeln!(
            html,
            "<div><dt>Certificate</dt><dd><span>{}</span> <span>{}</span></dd></div>",
            escape::sentence(&certificate.file),
            number::bytes(certificate.bytes)
        );
    }
    for (name, value) in report.settings.iter().take(section::SENTENCES) {
        let _ = writeln!(html, "<div><dt>{}</dt><dd>{}</dd></div>", escape::text(name), escape::text(value));
    }
    html += "</dl>\n";
    if let Some(certificate) = &report.certificate {
        let _ = writeln!(
            html,
            "<p>Check it again without trusting this program’s search:</p><pre><code>secateur-check {} {} {}</code>\
             </pre>",
            escape::sentence(&report.models[0].file),
            escape::sentence(&report.models[1].file),
            escape::sentence(&certificate.file)
        );
    }
    if !report.not_certified.is_empty() {
        html += "<h3>What is not certified</h3><ul class=\"notes\">";
        for sentence in report.not_certified.iter().take(section::SENTENCES) {
            let _ = write!(html, "<li>{}</li>", escape::sentence(sentence));
        }
        html += "</ul>\n";
    }
    if !report.notes.is_empty() {
        html += "<ul class=\"notes\">";
        for note in report.notes.iter().take(section::SENTENCES) {
            let _ = write!(html, "<li>{}</li>", escape::sentence(note));
        }
        html += "</ul>\n";
    }
    let _ = writeln!(
        html,
        "<p class=\"note\">Made by {}{}. This page is one file: it loads nothing and runs no script.</p>",
        escape::text(&report.version),
        if report.date.is_empty() { String::new() } else { format!(" on {}", escape::text(&report.date)) }
    );
    section::section("files", "Files and settings", &html)
}
