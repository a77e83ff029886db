-- Up Migration
-- Settings of each service at its last start, as keyed commitments: which ones are others at the next start is an audit
-- entry, what they say is not here.
CREATE TABLE service_settings (
  service text NOT NULL,
  name text NOT NULL,
  commitment text NOT NULL,
  changed_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (service, name)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON service_settings TO lemniscate_app;

-- Down Migration
DROP TABLE service_settings;
