/** A kind of secret that is told by its form. What `form` matches is replaced whole, or its group `secret` alone. */
export interface SecretPattern {
  readonly kind: string;
  readonly form: RegExp;
}

const pattern = (kind: string, form: RegExp): SecretPattern => ({ kind, form });

/**
 * Forms that secretlint's recommended rules do not know, or know only beside a variable's name. Each is anchored by a prefix
 * or a frame that its issuer made for being found; the issuers' public documentation is the source. Order does not matter:
 * overlapping finds are merged.
 */
export const secretPatterns: readonly SecretPattern[] = [
  // cloud
  pattern('aws-access-key', /\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b/g),
  pattern('azure-storage-key', /\bAccountKey=(?<secret>[A-Za-z0-9+/]{86}==)/g),
  pattern('azure-sas-signature', /[?&]sig=(?<secret>[A-Za-z0-9%]{43,64}(?:%3D|=))/g),
  pattern('azure-client-secret', /\b[A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{31,34}(?![A-Za-z0-9_~.-])/g),
  pattern('google-api-key', /\bAIza[A-Za-z0-9_-]{35}\b/g),
  pattern('google-oauth-secret', /\bGOCSPX-[A-Za-z0-9_-]{28}\b/g),
  pattern('google-access-token', /\bya29\.[A-Za-z0-9_-]{40,}/g),
  pattern('digitalocean-token', /\bdo[oprt]_v1_[0-9a-f]{64}\b/g),
  pattern('alibaba-access-key', /\bLTAI[A-Za-z0-9]{20}\b/g),
  pattern('fly-token', /\b(?:fo1_[A-Za-z0-9_-]{43}|FlyV1 fm[12]_[A-Za-z0-9+/=]{40,})/g),
  pattern('heroku-key', /\bHRKU-[A-Za-z0-9_-]{36,60}\b/g),
  pattern('netlify-token', /\bnf[pcou]_[A-Za-z0-9_]{36}\b/g),
  pattern('planetscale-token', /\bpscale_(?:tkn|oauth|pw)_[A-Za-z0-9_.-]{32,64}\b/g),
  pattern('supabase-token', /\bsbp_[0-9a-f]{40}\b/g),
  pattern('vault-token', /\bhv[sbr]\.[A-Za-z0-9_-]{24,}/g),
  pattern('terraform-token', /\b[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{60,70}\b/g),
  pattern('pulumi-token', /\bpul-[0-9a-f]{40}\b/g),
  pattern('doppler-token', /\bdp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{40,64}\b/g),
  pattern('tailscale-key', /\btskey-[a-z]+-[A-Za-z0-9]{6,}-[A-Za-z0-9]{16,}\b/g),

  // code and packages
  pattern('github-token', /\bgh[pousr]_[A-Za-z0-9]{36,255}\b/g),
  pattern('github-fine-grained-token', /\bgithub_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}\b/g),
  pattern('gitlab-token', /\bgl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas)-[A-Za-z0-9_-]{20,}/g),
  pattern('bitbucket-app-password', /\bATBB[A-Za-z0-9]{24}[0-9A-F]{8}\b/g),
  pattern('atlassian-token', /\bATATT3[A-Za-z0-9_=-]{100,250}/g),
  pattern('npm-token', /\bnpm_[A-Za-z0-9]{36}\b/g),
  pattern('npm-auth', /:_(?:authToken|password|auth)\s*=\s*"?(?<secret>[A-Za-z0-9+/=_-]{16,})/g),
  pattern('pypi-token', /\bpypi-AgE[A-Za-z0-9_-]{50,}/g),
  pattern('rubygems-key', /\brubygems_[0-9a-f]{48}\b/g),
  pattern('nuget-key', /\boy2[a-z0-9]{43}\b/g),
  pattern('crates-token', /\bcio[A-Za-z0-9]{32}\b/g),
  pattern('dockerhub-token', /\bdckr_(?:pat|oat)_[A-Za-z0-9_-]{27,}/g),
  pattern('sourcegraph-token', /\bsgp_(?:[0-9a-f]{16}_)?[0-9a-f]{40}\b/g),
  pattern('postman-key', /\bPMAK-[0-9a-f]{24}-[0-9a-f]{34}\b/g),

  // models
  pattern('anthropic-key', /\bsk-ant-[a-z0-9]+-[A-Za-z0-9_-]{32,}/g),
  pattern(
    'openai-key',
    /\bsk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{32,}|\bsk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}\b/g,
  ),
  pattern('huggingface-token', /\b(?:hf|api_org)_[A-Za-z]{34}\b/g),
  pattern('replicate-token', /\br8_[A-Za-z0-9]{37}\b/g),
  pattern('groq-key', /\bgsk_[A-Za-z0-9]{52}\b/g),
  pattern('xai-key', /\bxai-[A-Za-z0-9]{80}\b/g),
  pattern('perplexity-key', /\bpplx-[A-Za-z0-9]{48}\b/g),
  pattern('openrouter-key', /\bsk-or-v1-[0-9a-f]{64}\b/g),

  // money and shops
  pattern('stripe-key', /\b[sr]k_(?:live|test)_[A-Za-z0-9]{24,247}\b/g),
  pattern('stripe-webhook-secret', /\bwhsec_[A-Za-z0-9+/=]{32,}/g),
  pattern('square-token', /\bsq0(?:atp|csp)-[A-Za-z0-9_-]{22,43}\b/g),
  pattern('shopify-token', /\bshp(?:at|ca|pa|ss|tka)_[0-9a-fA-F]{32}\b/g),
  pattern('braintree-token', /\baccess_token\$production\$[0-9a-z]{16}\$[0-9a-f]{32}\b/g),
  pattern('easypost-key', /\bEZ[AT]K[A-Za-z0-9]{54}\b/g),

  // messages
  pattern('slack-token', /\bxox[abeoprs]-(?:\d-)?[A-Za-z0-9-]{20,}/g),
  pattern('slack-app-token', /\bxapp-\d-[A-Z0-9]+-\d+-[0-9a-f]{40,}\b/g),
  pattern(
    'slack-webhook',
    /hooks\.slack\.com\/(?:services|workflows|triggers)\/(?<secret>[A-Za-z0-9+/]{30,})/g,
  ),
  pattern(
    'discord-webhook',
    /discord(?:app)?\.com\/api\/webhooks\/\d{16,20}\/(?<secret>[A-Za-z0-9_-]{60,})/g,
  ),
  pattern(
    'discord-bot-token',
    /\b[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}(?![A-Za-z0-9_-])/g,
  ),
  pattern('telegram-bot-token', /\b\d{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])/g),
  pattern('teams-webhook', /\.webhook\.office\.com\/webhookb2\/(?<secret>[0-9a-f@-]{60,}\/[^\s"']+)/g),
  pattern('sendgrid-key', /\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])/g),
  pattern('mailgun-key', /\bkey-[0-9a-f]{32}\b/g),
  pattern('mailchimp-key', /\b[0-9a-f]{32}-us\d{1,2}\b/g),
  pattern('twilio-key', /\bSK[0-9a-f]{32}\b/g),
  pattern('brevo-key', /\bxkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16}\b/g),

  // work and watching
  pattern('linear-key', /\blin_(?:api|oauth)_[A-Za-z0-9]{40,64}\b/g),
  pattern('notion-token', /\b(?:secret_[A-Za-z0-9]{43}|ntn_[A-Za-z0-9]{43,50})\b/g),
  pattern('airtable-token', /\bpat[A-Za-z0-9]{14}\.[0-9a-f]{64}\b/g),
  pattern('figma-token', /\bfig[dour]_[A-Za-z0-9_-]{40,}/g),
  pattern('hubspot-token', /\bpat-(?:na|eu)\d-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g),
  pattern('contentful-token', /\bCFPAT-[A-Za-z0-9_-]{43}\b/g),
  pattern('newrelic-key', /\bNR(?:AK|II|JS|RA)-[A-Za-z0-9_-]{19,42}\b/g),
  pattern('sentry-token', /\bsntry[su]_[A-Za-z0-9+/=_-]{60,}/g),
  pattern('grafana-token', /\bgl(?:sa_[A-Za-z0-9]{32}_[0-9a-f]{8}|c_[A-Za-z0-9+/=]{40,})/g),
  pattern('dynatrace-token', /\bdt0[a-z]\d\d\.[A-Z0-9]{24}\.[A-Z0-9]{64}\b/g),
  pattern('databricks-token', /\bdapi[0-9a-f]{32}(?:-\d)?\b/g),
  pattern('onepassword-token', /\bops_eyJ[A-Za-z0-9+/=_-]{100,}/g),

  // secretlint finds it as well and tells a place that begins too early and ends too early
  pattern(
    'aws-secret-key',
    /\b(?:aws_?)?secret_?(?:access_?)?key\\?["']?\s{0,4}(?:=>|[:=])\s{0,4}\\?["']?(?<secret>[A-Za-z0-9/+=]{40})(?![A-Za-z0-9/+=])/gi,
  ),

  // forms that no single issuer has
  pattern(
    'private-key',
    /-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|$)/g,
  ),
  pattern('age-key', /\bAGE-SECRET-KEY-1[02-9AC-HJ-NP-Z]{58}\b/g),
  pattern('putty-key', /PuTTY-User-Key-File-\d:[\s\S]*?Private-MAC: [0-9a-f]{40,64}/g),
  pattern(
    'json-web-token',
    /\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{20,}(?![A-Za-z0-9_-])/g,
  ),
  pattern('bearer-token', /\bBearer (?<secret>(?=[^\s"']*\d)[A-Za-z0-9._~+/=-]{24,})/g),
  pattern('basic-auth', /\bAuthorization: Basic (?<secret>[A-Za-z0-9+/]{12,}={0,2})/gi),
  pattern(
    'url-password',
    /\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s:/@"'`<>{}$]{1,64}:(?<secret>[^\s:/@"'`<>{}$*]{6,128})@[a-z0-9.-]/gi,
  ),
  pattern('relay-token', /\blmr_[A-Za-z0-9_-]{43}\b/g),
  // a name that says so and a value that nobody types: upper and lower case and digits
  pattern(
    'assigned-secret',
    /\b(?:[A-Za-z0-9]*[_-])?(?:password|passwd|secret|token|api_?key|access_?key|private_?key|client_?secret)\\?["']?\s*[:=]\s*\\?["']?(?<secret>(?=[A-Za-z0-9+/_-]*[a-z])(?=[A-Za-z0-9+/_-]*[A-Z])(?=[A-Za-z0-9+/_-]*\d)[A-Za-z0-9+/_-]{20,128}={0,2})(?=["'\s,;\\]|$)/gi,
  ),
];
