// The part of System.Text.Json that the samples in C# use. .NET has it and Mono does not, on which they are tested where
// .NET is not installed.
using System.Runtime.Serialization.Json;
using System.Xml;

namespace System.Text.Json
{
    public enum JsonValueKind { Undefined, Object, Array, String, Number, True, False, Null }

    public class JsonException : Exception
    {
        public JsonException(string message) : base(message) { }
    }

    public sealed class JsonDocument : IDisposable
    {
        public JsonElement RootElement { get; private set; }

        public static JsonDocument Parse(string json)
        {
            try
            {
                var bytes = Encoding.UTF8.GetBytes(json);
                var document = new XmlDocument();
                document.Load(JsonReaderWriterFactory.CreateJsonReader(bytes, XmlDictionaryReaderQuotas.Max));
                return new JsonDocument { RootElement = new JsonElement(document.DocumentElement) };
            }
            catch (Exception fault)
            {
                throw new JsonException(fault.Message);
            }
        }

        public void Dispose() { }
    }

    public struct JsonElement
    {
        readonly XmlElement element;

        internal JsonElement(XmlElement element)
        {
            this.element = element;
        }

        public JsonValueKind ValueKind
        {
            get
            {
                switch (element.GetAttribute("type"))
                {
                    case "object": return JsonValueKind.Object;
                    case "array": return JsonValueKind.Array;
                    case "number": return JsonValueKind.Number;
                    case "boolean": return element.InnerText == "true" ? JsonValueKind.True : JsonValueKind.False;
                    case "null": return JsonValueKind.Null;
                    default: return JsonValueKind.String;
                }
            }
        }

        public bool TryGetProperty(string name, out JsonElement value)
        {
            if (ValueKind != JsonValueKind.Object) throw new InvalidOperationException("not an object");
            var found = element[name];
            value = new JsonElement(found);
            return found != null;
        }

        public JsonElement GetProperty(string name)
        {
            JsonElement value;
            if (!TryGetProperty(name, out value)) throw new Collections.Generic.KeyNotFoundException(name);
            return value;
        }

        public string GetString()
        {
            if (ValueKind == JsonValueKind.Null) return null;
            if (ValueKind != JsonValueKind.String) throw new InvalidOperationException("not a string");
            return element.InnerText;
        }
    }
}
