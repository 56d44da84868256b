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
    /// The certificates between a leaf and the root, PEM; empty for a root.
    between: String,
}

/// A certificate and its key, both PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// The certificate.
    pub cert: String,
    /// Its key.
    pub key: String,
}

/// The use of a certificate.
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
    pub fn new(name: &str) -> Result<Self> {
        Self::new_until(name, 2099)
    }

    /// As [`Authority::new`], valid to the first day of a year.
    pub fn new_until(name: &str, year: i32) -> Result<Self> {
        let issuer = CertifiedIssuer::self_signed(of_authority(name, year)?, KeyPair::generate()?)?;
        Ok(Self { issuer, between: String::new() })
    }

    /// An authority that this one vouches for; the certificates that it signs come with its own.
    pub fn intermediate(&self, name: &str) -> Result<Self> {
        let issuer = CertifiedIssuer::signed_by(of_authority(name, 2099)?, KeyPair::generate()?, &self.issuer)?;
        let between = issuer.pem() + &self.between;
        Ok(Self { issuer, between })
    }

    /// Its own certificate, PEM.
    pub fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// Signs a certificate that is valid for this century.
    pub fn issue(&self, purpose: Purpose) -> Result<Pair> {
        self.issue_until(purpose, 2099)
    }

    /// Signs a certificate that is valid from the year 2001 to the first day of another.
    pub fn issue_until(&self, purpose: Purpose, year: i32) -> Result<Pair> {
        self.issue_named(purpose.subject(), purpose, year)
    }

    /// As [`Authority::issue_until`], with another Common Name.
    pub fn issue_named(&self, name: &str, purpose: Purpose, year: i32) -> Result<Pair> {
        let names = if purpose == Purpose::Client { &[][..] } else { &["plimsoll.test", "127.0.0.1"] };
        self.issue_for(name, names, purpose, year)
    }

    /// As [`Authority::issue_named`], for these DNS names and addresses.
    pub fn issue_for(&self, name: &str, names: &[&str], purpose: Purpose, year: i32) -> Result<Pair> {
        let (server, client) = (ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth);
        let usages = match purpose {
            Purpose::Server => vec![server],
            Purpose::Client => vec![client],
            Purpose::Replica => vec![server, client],
        };
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = named(name, names)?;
        params.extended_key_usages = usages;
        (params.not_before, params.not_after) = (date_time_ymd(2001, 1, 1), date_time_ymd(year, 1, 1));
        let key = KeyPair::generate()?;
        Ok(Pair { cert: params.signed_by(&key, &self.issuer)?.pem() + &self.between, key: key.serialize_pem() })
    }
}

// === impl Purpose ===

impl Purpose {
    /// The Common Name of such a certificate.
    const fn subject(self) -> &'static str {
        match self {
            Self::Server | Self::Replica => "plimsoll",
            // As kubeadm names it.
            Self::Client => "system:kube-scheduler",
        }
    }
}

// === impl Pair ===

impl Pair {
    /// Writes `NAME.crt` and `NAME.key`.
    pub fn write(&self, directory: &Path, name: &str) -> Result<()> {
        fs::write(directory.join(format!("{name}.crt")), &self.cert)?;
        Ok(fs::write(directory.join(format!("{name}.key")), &self.key)?)
    }
}

fn of_authority(name: &str, year: i32) -> Result<CertificateParams> {
    let mut params = named(name, vec![])?;
    (params.not_before, params.not_after) = (date_time_ymd(2001, 1, 1), date_time_ymd(year, 1, 1));
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    Ok(params)
}

fn named(name: &str, names: Vec<String>) -> Result<CertificateParams> {
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name.push(DnType::CommonName, name);
    Ok(params)
}
