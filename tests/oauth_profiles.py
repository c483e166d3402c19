"""Profiles as the providers document them."""

from __future__ import annotations

from flask_records.authentication.providers import Profile

GOOGLE = {
    "iss": "https://accounts.google.com",
    "azp": "1234987819200.apps.googleusercontent.com",
    "aud": "1234987819200.apps.googleusercontent.com",
    "sub": "10769150350006150715113082367",
    "at_hash": "HK6E_P6Dh8Y93mRNtsDB1Q",
    "hd": "example.com",
    "email": "jsmith@example.com",
    "email_verified": True,
    "name": "Jane Smith",
    "given_name": "Jane",
    "family_name": "Smith",
    "picture": "https://lh3.googleusercontent.com/a/AItbvmm=s96-c",
    "nonce": "0394852-3190485-2490358",
}

GITHUB = {
    "login": "octocat",
    "id": 583231,
    "node_id": "MDQ6VXNlcjU4MzIzMQ==",
    "avatar_url": "https://avatars.githubusercontent.com/u/583231?v=4",
    "gravatar_id": "",
    "url": "https://api.github.com/users/octocat",
    "html_url": "https://github.com/octocat",
    "type": "User",
    "site_admin": False,
    "name": "The Octocat",
    "company": "@github",
    "blog": "https://github.blog",
    "email": "octocat@github.com",
    "hireable": None,
    "public_repos": 8,
    "created_at": "2011-01-25T18:44:36Z",
}

GITLAB = {
    "sub": "1574083",
    "sub_legacy": "90b8a5dc",
    "auth_time": 1746000000,
    "name": "Ada Lovelace",
    "nickname": "ada",
    "preferred_username": "ada",
    "email": "ada@example.com",
    "email_verified": True,
    "profile": "https://gitlab.com/ada",
    "picture": "https://gitlab.com/uploads/-/system/user/avatar/1574083/avatar.png",
    "groups": ["engines"],
}

MICROSOFT = {
    "ver": "2.0",
    "iss": "https://login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0",
    "sub": "AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ",
    "tid": "9188040d-6c67-4c5b-b112-36a304b66dad",
    "oid": "00000000-0000-0000-66f3-3332eca7ea81",
    "name": "Abe Lincoln",
    "family_name": "Lincoln",
    "given_name": "Abe",
    "preferred_username": "AbeLi@microsoft.com",
    "email": "AbeLi@microsoft.com",
    "picture": "https://graph.microsoft.com/v1.0/me/photo/$value",
}

APPLE = {
    "iss": "https://appleid.apple.com",
    "aud": "com.example.app",
    "sub": "001234.0fd5b8b7e1d04a1fa1d7cd3e4f5a6b7c.1234",
    "email": "x7k2p9@privaterelay.appleid.com",
    "email_verified": "true",
    "is_private_email": "true",
    "nonce_supported": True,
}

FACEBOOK = {
    "id": "10160028394756123",
    "name": "Ada Lovelace",
    "email": "ada@example.com",
    "picture": {
        "data": {
            "height": 50,
            "is_silhouette": False,
            "url": "https://platform-lookaside.fbsbx.com/platform/profilepic/?asid=1",
            "width": 50,
        }
    },
}

DISCORD = {
    "id": "80351110224678912",
    "username": "nelly",
    "discriminator": "0",
    "global_name": "Nelly",
    "avatar": "8342729096ea3675442027381ff50dfe",
    "verified": True,
    "email": "nelly@discord.com",
    "flags": 64,
    "banner": "06c16474723fe537c283b8efa61a30c8",
    "accent_color": 16711680,
    "premium_type": 1,
    "public_flags": 64,
}

LINKEDIN = {
    "sub": "782bbtaQ",
    "name": "John Doe",
    "given_name": "John",
    "family_name": "Doe",
    "picture": "https://media.licdn-ei.com/dms/image/profile-displayphoto/0/",
    "locale": {"country": "US", "language": "en"},
    "email": "doe@email.com",
    "email_verified": True,
}

SLACK = {
    "ok": True,
    "sub": "U0R7JM",
    "https://slack.com/user_id": "U0R7JM",
    "https://slack.com/team_id": "T0R7GR",
    "email": "krane@slack-corp.com",
    "email_verified": True,
    "date_email_verified": 1622128723,
    "name": "krane",
    "picture": "https://secure.gravatar.com/krane.png",
    "given_name": "Bront",
    "family_name": "Labradoodle",
    "locale": "en-US",
}

SPOTIFY = {
    "country": "SE",
    "display_name": "JM Wizzler",
    "email": "email@example.com",
    "explicit_content": {"filter_enabled": False, "filter_locked": False},
    "external_urls": {"spotify": "https://open.spotify.com/user/wizzler"},
    "followers": {"href": None, "total": 3829},
    "href": "https://api.spotify.com/v1/users/wizzler",
    "id": "wizzler",
    "images": [
        {"height": 300, "url": "https://i.scdn.co/image/ab67757300", "width": 300},
        {"height": 64, "url": "https://i.scdn.co/image/ab67757064", "width": 64},
    ],
    "product": "premium",
    "type": "user",
    "uri": "spotify:user:wizzler",
}

TWITCH = {
    "data": [
        {
            "id": "141981764",
            "login": "twitchdev",
            "display_name": "TwitchDev",
            "type": "",
            "broadcaster_type": "partner",
            "description": "Supporting third-party developers",
            "profile_image_url": "https://static-cdn.jtvnw.net/dev-300x300.png",
            "offline_image_url": "https://static-cdn.jtvnw.net/dev-1920x1080.png",
            "view_count": 5980557,
            "email": "not-real@email.com",
            "created_at": "2016-12-14T20:32:28Z",
        }
    ]
}

X = {
    "data": {
        "id": "2244994945",
        "name": "X Dev",
        "username": "TwitterDev",
        "created_at": "2013-12-14T04:35:55Z",
        "protected": False,
        "profile_image_url": "https://pbs.twimg.com/profile_images/1283786/x_normal.jpg",
    }
}

PROFILES = {
    "google": (
        GOOGLE,
        Profile(
            "10769150350006150715113082367",
            "jsmith@example.com",
            "Jane Smith",
            "https://lh3.googleusercontent.com/a/AItbvmm=s96-c",
        ),
    ),
    "github": (
        GITHUB,
        Profile(
            "583231",
            "octocat@github.com",
            "The Octocat",
            "https://avatars.githubusercontent.com/u/583231?v=4",
        ),
    ),
    "gitlab": (
        GITLAB,
        Profile(
            "1574083",
            "ada@example.com",
            "Ada Lovelace",
            "https://gitlab.com/uploads/-/system/user/avatar/1574083/avatar.png",
        ),
    ),
    "microsoft": (
        MICROSOFT,
        Profile("AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ", name="Abe Lincoln"),
    ),
    "apple": (APPLE, Profile(APPLE["sub"], "x7k2p9@privaterelay.appleid.com")),
    "facebook": (
        FACEBOOK,
        Profile(
            "10160028394756123",
            "ada@example.com",
            "Ada Lovelace",
            "https://platform-lookaside.fbsbx.com/platform/profilepic/?asid=1",
        ),
    ),
    "discord": (
        DISCORD,
        Profile(
            "80351110224678912",
            "nelly@discord.com",
            "Nelly",
            "https://cdn.discordapp.com/avatars/80351110224678912/"
            "8342729096ea3675442027381ff50dfe.png",
        ),
    ),
    "linkedin": (
        LINKEDIN,
        Profile(
            "782bbtaQ",
            "doe@email.com",
            "John Doe",
            "https://media.licdn-ei.com/dms/image/profile-displayphoto/0/",
        ),
    ),
    "spotify": (
        SPOTIFY,
        Profile(
            "wizzler", name="JM Wizzler", avatar="https://i.scdn.co/image/ab67757300"
        ),
    ),
    "twitch": (
        TWITCH,
        Profile(
            "141981764",
            "not-real@email.com",
            "TwitchDev",
            "https://static-cdn.jtvnw.net/dev-300x300.png",
        ),
    ),
    "x": (
        X,
        Profile(
            "2244994945",
            name="X Dev",
            avatar="https://pbs.twimg.com/profile_images/1283786/x_normal.jpg",
        ),
    ),
}
"""Profiles as providers document them, and the users that they become."""
