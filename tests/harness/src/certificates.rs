//! Certificates for a test, made on the spot.

use std::{fs, path::Path};

use anyhow::Result;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};

/// Somebody who signs certificates.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// A certificate and its key, both PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// The certificate.
    pub cert: String,
    /// Its key.
    pub key: String,
}

/// What a certificate is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A server at 127.0.0.1, called `plimsoll.test`.
    Server,
    /// A client.
    Client,
    /// A server that calls others like itself.
    Replica,
}

// === impl Authority ===

impl Authority {
    /// An authority of this name.
    ///
    /// # Errors
    /// If the system has no randomness.
    pub fn new(name: &str) -> Result<Self> {
        Self::new_until(name, 2099)
    }

    /// As [`Authority::new`], valid to the first day of a year.
    ///
    /// # Errors
    /// If the system has no randomness.
    pub fn new_until(name: &str, year: i32) -> Result<Self> {
        let mut params = named(name, vec![])?;
        (params.not_before, params.not_after) = (date_time_ymd(2001, 1, 1), date_time_ymd(year, 1, 1));
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        Ok(Self { issuer: CertifiedIssuer::self_signed(params, KeyPair::generate()?)? })
    }

    /// Its own certificate, PEM.
    pub fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// Signs a certificate that is valid for this century.
    ///
    /// # Errors
    /// If the system has no randomness.
    pub fn issue(&self, purpose: Purpose) -> Result<Pair> {
        self.issue_until(purpose, 2099)
    }

    /// Signs a certificate that is valid from the year 2001 to the first day of another.
    ///
    /// # Errors
    /// If the system has no randomness.
    pub fn issue_until(&self, purpose: Purpose, year: i32) -> Result<Pair> {
        let (server, client) = (ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth);
        let (name, usages) = match purpose {
            Purpose::Server => ("plimsoll", vec![server]),
            Purpose::Client => ("kube-scheduler", vec![client]),
            Purpose::Replica => ("plimsoll", vec![server, client]),
        };
        let names = if purpose == Purpose::Client { &[][..] } else { &["plimsoll.test", "127.0.0.1"] };
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = named(name, names)?;
        params.extended_key_usages = usages;
        (params.not_before, params.not_after) = (date_time_ymd(2001, 1, 1), date_time_ymd(year, 1, 1));
        let key = KeyPair::generate()?;
        Ok(Pair { cert: params.signed_by(&key, &self.issuer)?.pem(), key: key.serialize_pem() })
    }
}

// === impl Pair ===

impl Pair {
    /// Writes `NAME.crt` and `NAME.key`.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write(&self, directory: &Path, name: &str) -> Result<()> {
        fs::write(directory.join(format!("{name}.crt")), &self.cert)?;
        Ok(fs::write(directory.join(format!("{name}.key")), &self.key)?)
    }
}

fn named(name: &str, names: Vec<String>) -> Result<CertificateParams> {
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name.push(DnType::CommonName, name);
    Ok(params)
}
