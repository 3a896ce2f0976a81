"""Tokens without a form of their own, which the name of a service beside them gives away."""

from __future__ import annotations

import re
from collections.abc import Iterator

from commonplace.text.secret_values import JUDGED_CHARS, is_opaque

__all__ = ["vendor_secrets"]

Span = tuple[int, int]

_UUID = r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"
_VENDORS = (
    "dropbox|nexus|mandrill|mongodb|atlas|twitch|okta|cloudflare|heroku|datadog|twilio|mailgun|sendgrid|algolia|auth0|openai"
    "|anthropic|mistral|cohere|replicate|pinecone|discord|telegram|notion|airtable|grafana|sentry"
    "|new ?relic|doppler|planetscale|terraform|square|mailchimp|stripe|paypal|plaid|zendesk|adyen"
    "|intercom|hubspot|atlassian|jira|bitbucket|gitlab|netlify|vercel|supabase|linear|figma|asana"
    "|confluence|azure|aws|gcp|digital ?ocean|linode|hetzner|vultr|scaleway|fastly|akamai|rollbar"
    "|bugsnag"
    "|honeycomb|pagerduty|opsgenie|launch ?darkly|segment|mixpanel|amplitude|posthog|braze"
    "|klaviyo|mollie"
    "|together(?: ai)?|groq|perplexity|deepseek|voyage|jina|elevenlabs|deepgram|assemblyai"
    "|firecrawl|tavily"
    "|hugging ?face|fireworks|openrouter|gemini|mapbox|openweather(?:map)?|rapidapi|unsplash"
    "|giphy|shodan"
    "|virustotal|etherscan|infura|alchemy|coinbase|binance|kraken|circle ?ci|travis|drone"
    "|buildkite|codecov"
    "|sonar(?:qube|cloud)?|snyk|npm|pypi|docker(?: ?hub)?|jfrog|nexus|vault|consul"
    "|nomad|ngrok"
    "|tailscale|zapier|calendly|typeform|trello|todoist|clickup|slack|mattermost|zoom|webex|postmark"
    "|sparkpost|brevo|sendinblue|mailjet|messagebird|vonage|nexmo|plivo|facebook|twitter|linkedin|spotify"
    "|shopify|contentful|sanity|fly(?:\\.io)?|railway|neon|upstash|redis|elastic|confluent|databricks|snowflake"
    "|yandex|alibaba|tencent|ibm|oracle|adobe|maxmind|weather ?api|finnhub|polygon|alpaca"
    "|home ?assistant|deepl|ngrok|mailersend|mailerlite|adafruit|algolia|bittrex|kucoin"
    "|bitly|codacy|coveralls"
    "|cloudinary|clickhouse|dnsimple|namecheap|gandi|porkbun|easypost|etsy|flickr|foursquare|freshbooks|freshdesk"
    "|gitea|forgejo|gitter|gumroad|honeybadger|infracost|instagram|ipinfo|ipstack|jumpcloud|livekit|logdna"
    "|loggly|lokalise|lemon ?squeezy|mapquest|meraki|newsapi|onesignal|onelogin|onfido"
    "|opencage|paddle"
    "|papertrail|paystack|pipedrive|pingdom|prefect|pusher|pubnub|pushbullet|pushover|quickbooks|razorpay"
    "|recaptcha|retool|roboflow|runpod|salesforce|sendbird|serpapi|splunk|squarespace|stability|storyblok"
    "|strava|stytch|sumo ?logic|teamcity|telnyx|tmdb|tomtom|turso|typesense"
    "|uptimerobot|vimeo|wakatime|wandb"
    "|weatherstack|webflow|wistia|xero|zoho|jellyfin|plex|sonarr|radarr|prowlarr|immich|paperless|nextcloud"
    "|portainer|woodpecker|vaultwarden|authentik|keycloak|proxmox|opnsense|unifi|overseerr|tautulli|syncthing"
    "|miniflux|freshrss|linkding|karakeep|mealie|n8n"
)
_NO_SECRET = (
    "ids?|uuid|pages?|events?|traces?|issues?|commits?|sha\\d*|hash|zones?|accounts?|projects?|customers?|build"
    "|images?|versions?|release|docs?|request|databases?|workspaces?|dashboards?|org|organi[sz]ation|tenant"
    "|public|subscription|object|resource|rev(?:ision)?|branch|digest|checksum|run|job|ray"
)
_OPAQUE = (
    rf"(?:{_UUID}|[0-9a-f]{{32,128}}"
    r"|(?=[^\s\d]{0,60}\d)(?=[^\sA-Z]{0,60}[A-Z])[A-Za-z0-9_-]{24,200})"
)
"""Characters of a token of a service whose tokens have no prefix."""

_VENDOR = re.compile(rf"(?<![a-z0-9])(?i:{_VENDORS})(?=[ \t_:=,\n-])")
_GAP = re.compile(
    rf"[,;:)]?(?i:(?:[ \t_-]{{1,2}}(?!(?:[a-z]\w{{0,19}}_)?(?:{_NO_SECRET})\b)"
    r"[a-z][\w.:/-]{0,19}){0,4})[ \t]{0,2}"
    r"(?:(?:[:=/]|->|→|=>|—)[ \t]{0,2}|(?<=[ \t]))[\"'`(*]{0,3}"
)
_BELOW = re.compile(
    r"[ \t:*_]{0,6}\r?\n[ \t>*-]{0,8}[`\"']?([A-Za-z0-9_-]{24,200})[`\"']?[ \t]{0,4}(?=\r?\n|$)"
)
_SECRET = re.compile(rf"({_OPAQUE})(?![\w.@/-]*[\w@/])")


def vendor_secrets(text: str) -> Iterator[Span]:
    """Yield the tokens that follow the name of a service in its line, or are the next line."""
    for vendor in _VENDOR.finditer(text):
        at = vendor.end()
        while (gap := _GAP.match(text, at)) and (secret := _SECRET.match(text, gap.end())):
            yield secret.span(1)
            at = secret.end()
        below = _BELOW.match(text, vendor.end())
        if below and is_opaque(below[1][:JUDGED_CHARS]):
            yield below.span(1)
